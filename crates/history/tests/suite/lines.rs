//! The text form, and the program that judges it.

use std::io::Write;
use std::process::{Command, Stdio};

use dunlin_history::{Kind, Operation, Outcome, Recorder, from_lines, to_lines};

use super::register::{Shape, history};
use super::{ok, operation};

#[test]
fn text_is_what_the_formats_say() {
    let swap = Kind::Swap {
        expected: Some(7),
        value: None,
    };
    let mut given_up = operation(Kind::Put(8), 4, Outcome::Unknown { until: Some(9) });
    given_up.note = "n2".to_owned();
    let operations = [
        ok(Kind::Put(7), 1, 3),
        operation(swap, 2, Outcome::Unmet { returned: 5 }),
        given_up,
        ok(Kind::Get(None), 6, 8),
        operation(Kind::Delete, 7, Outcome::Failed),
    ];
    let text = to_lines(&operations);
    let expected = concat!(
        r#"{"process":1,"key":"k","op":"put","value":7,"invoke":1,"return":3,"outcome":"ok"}"#,
        "\n",
        r#"{"process":2,"key":"k","op":"swap","expected":7,"value":null,"invoke":2,"return":5,"outcome":"unmet"}"#,
        "\n",
        r#"{"process":4,"key":"k","op":"put","value":8,"invoke":4,"return":null,"outcome":"unknown","until":9,"note":"n2"}"#,
        "\n",
        r#"{"process":6,"key":"k","op":"get","value":null,"invoke":6,"return":8,"outcome":"ok"}"#,
        "\n",
        r#"{"process":7,"key":"k","op":"delete","value":null,"invoke":7,"return":null,"outcome":"failed"}"#,
        "\n",
    );
    assert_eq!(text, expected);
    assert_eq!(from_lines(&text).unwrap(), operations);
}

#[test]
fn any_history_survives_its_text() {
    for seed in 0..20 {
        let shape = Shape {
            processes: 5,
            operations: 200,
            unknown: 10,
            deletes: 4,
            swaps: 4,
        };
        let operations = history(shape, seed);
        assert_eq!(from_lines(&to_lines(&operations)).unwrap(), operations);
    }
}

#[test]
fn what_is_no_history_is_refused_with_its_line() {
    let good = r#"{"process":1,"key":"k","op":"get","invoke":1,"return":3,"outcome":"ok"}"#;
    assert_eq!(from_lines(good).unwrap()[0].kind, Kind::Get(None));
    for (bad, reason) in [
        ("nonsense", "expected"),
        (r#"{"process":1}"#, "missing field"),
        (&good.replace("get", "put"), "a put needs its value"),
        (&good.replace("\"return\":3,", ""), "moment of its return"),
        (&good.replace("3", "0"), "returned before its invoke"),
        (&good.replace("\"ok\"", "\"unmet\""), "only a swap"),
        (&good.replace("\"ok\"", "\"fine\""), "unknown variant"),
    ] {
        let text = format!("{good}\n\n{bad}\n");
        let error = from_lines(&text).unwrap_err().to_string();
        assert!(error.starts_with("line 3: "), "{error}");
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_recorder_keeps_the_order_of_threads() {
    let recorder = Recorder::default();
    recorder.begin(1, "k", Kind::Put(1)).note("n1").ok();
    std::thread::scope(|scope| {
        for process in 2..6 {
            let recorder = &recorder;
            scope.spawn(move || {
                recorder.begin(process, "k", Kind::Get(None)).found(Some(1));
                drop(recorder.begin(process, "k", Kind::Delete));
            });
        }
    });
    recorder.begin(1, "k", Kind::Put(2)).failed();
    let operations = recorder.operations();
    assert_eq!(operations.len(), 10);
    let Outcome::Ok { returned } = operations[0].outcome else {
        panic!("{}", operations[0]);
    };
    assert!(operations[1..].iter().all(|o| o.invoked > returned));
    let open = |o: &&Operation| o.outcome == Outcome::Unknown { until: None };
    assert_eq!(operations.iter().filter(open).count(), 4);
    assert_eq!(operations[9].outcome, Outcome::Failed);
}

fn run(text: &str, flags: &[&str]) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin-history"))
        .arg("-")
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn the_program_tells_by_its_exit_code() {
    let good = [ok(Kind::Put(1), 1, 2), ok(Kind::Get(Some(1)), 3, 4)];
    let (code, out, _) = run(&to_lines(&good), &[]);
    assert_eq!((code, &*out), (0, "2 operations on 1 keys: linearizable\n"));
    let bad = [ok(Kind::Put(1), 1, 2), ok(Kind::Get(None), 3, 4)];
    let (code, out, _) = run(&to_lines(&bad), &[]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("process 3   get: nothing, ok"), "{out}");
    let (code, _, err) = run("{}", &[]);
    assert_eq!(code, 2, "{err}");
    assert!(err.starts_with("dunlin-history: -: line 1: "), "{err}");
    let (code, out, _) = run(&to_lines(&good), &["--states", "1"]);
    assert_eq!(code, 3, "{out}");
}
