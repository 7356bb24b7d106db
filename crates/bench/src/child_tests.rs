#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_child_is_heard_and_its_failure_told() {
    let directory = tempfile::tempdir().unwrap();
    let shell = |script: &str, interrupt: &Interrupt| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, directory.path(), interrupt)
    };
    let on = Interrupt::default();
    assert_eq!(shell("echo yes", &on).unwrap(), "yes\n");
    let error = shell("echo why >&2; exit 3", &on).unwrap_err().to_string();
    assert!(error.contains("exit status: 3: why"), "{error}");
    let stop = Interrupt::default();
    stop.set();
    let error = shell("sleep 100", &stop).unwrap_err();
    assert!(matches!(error, BenchError::Interrupted(_)), "{error}");
}

#[test]
fn a_child_is_looked_at_while_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 0.2; echo $$"]);
    let mut seen = Vec::new();
    let ended = run_watched(command, directory.path(), &Interrupt::default(), |pid| {
        seen.push(pid);
    })
    .unwrap();
    assert!(ended.elapsed >= Duration::from_millis(200));
    assert!(seen.len() > 2 && seen.iter().all(|pid| format!("{pid}\n") == ended.printed));
}
