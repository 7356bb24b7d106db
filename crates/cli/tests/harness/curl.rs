//! curl, the client most people meet a server with first.

use std::io::Write;
use std::process::{Command, Stdio};

use super::answer::Answer;

/// Runs curl; it must reach the server and be content with the protocol. See [`Answer::repeated`].
pub fn curl(arguments: &[&str]) -> Answer {
    curl_with(arguments, b"")
}

/// The same with standard input, which `-T -` and `--data-binary @-` read.
pub fn curl_with(arguments: &[&str], input: &[u8]) -> Answer {
    let has_condition = arguments.iter().any(|text| text.starts_with("If-"));
    let is_post = arguments.contains(&"-d") || arguments.contains(&"POST");
    let may_repeat = !has_condition && !is_post;
    Answer::repeated(may_repeat, || curl_once(arguments, input))
}

/// Runs curl once, whatever the answer.
fn curl_once(arguments: &[&str], input: &[u8]) -> Answer {
    let mut child = Command::new("curl")
        .args(["-sS", "-i", "--max-time", "60"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Debian's package curl is needed");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // curl may stop reading when the server has answered.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "curl {arguments:?}: {stderr}");
    parse(&output.stdout)
}

/// The last response of what `curl -i` prints: interim ones come before it.
fn parse(mut output: &[u8]) -> Answer {
    loop {
        let end = output.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.expect("no end of the head");
        let head = std::str::from_utf8(&output[..end]).unwrap();
        let mut answer = Answer::from_head(head);
        output = &output[end + 4..];
        if answer.status >= 200 {
            answer.body = output.to_vec();
            return answer;
        }
    }
}

pub fn put(url: &str, value: &[u8]) -> Answer {
    curl_with(&["-X", "PUT", "--data-binary", "@-", url], value)
}

pub fn get(url: &str) -> Answer {
    curl(&[url])
}

pub fn delete(url: &str) -> Answer {
    curl(&["-X", "DELETE", url])
}
