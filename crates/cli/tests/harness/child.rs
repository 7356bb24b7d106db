//! A process that ends with the test that began it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running process; dropping it kills and reaps it.
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; all it prints is added to the file `log`.
    pub fn start(command: &mut Command, log: &Path) -> Process {
        let open = || File::options().create(true).append(true).open(log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(open())
            .stderr(open())
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Process {
            child,
            log: log.to_owned(),
        }
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends it as Ctrl-C in a service manager does, and returns its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        self.signal("-TERM");
        self.ended(Duration::from_secs(20))
    }

    pub fn signal(&self, signal: &str) {
        let done = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(done.success(), "kill {signal}");
    }

    /// Stops it until it is sent `-CONT`: done when none of its threads runs any more, which a busy
    /// machine takes a while for.
    pub fn freeze(&self) {
        self.signal("-STOP");
        super::eventually("every thread stops", Duration::from_secs(10), || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
            tasks.flatten().all(|task| {
                // The state stands behind the name, which is in parentheses.
                std::fs::read_to_string(task.path().join("stat"))
                    .is_ok_and(|stat| stat.rsplit(')').next().unwrap().trim().starts_with('T'))
            })
        });
    }

    /// Waits for it to end by itself; `None` when a signal ended it.
    pub fn ended(&mut self, within: Duration) -> Option<i32> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(
                Instant::now() < deadline,
                "still running after {within:?}: {}",
                self.output()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Everything it printed, its earlier lives with the same file too.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory in KiB.
    pub fn rss_kib(&self) -> u64 {
        self.memory_kib("VmRSS:")
    }

    /// The most resident memory it ever had, in KiB.
    pub fn rss_kib_max(&self) -> u64 {
        self.memory_kib("VmHWM:")
    }

    fn memory_kib(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let number = line.unwrap().trim().trim_end_matches(" kB");
        number.parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The `dunlin` binary with no settings from the environment but its log level and number of shards.
pub fn dunlin() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin"));
    without_settings(&mut command);
    command
}

/// A command of it that ends by itself; it is stopped after four minutes, so that a test fails instead of waiting.
pub fn command() -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "240", env!("CARGO_BIN_EXE_dunlin")]);
    without_settings(&mut command);
    command
}

/// Takes away what a user may have set for own nodes; they have one shard whatever the machine has.
pub fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("DUNLIN_") && name != "DUNLIN_LOG" {
            command.env_remove(&*name);
        }
    }
    command.env("DUNLIN_SHARDS", "1");
}
