//! How blocking I/O leaves the event loop.

use rustix::process::{getpriority_process, setpriority_process};
use std::{
    cell::{Cell, OnceCell},
    future::Future,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::mpsc,
    thread,
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, timeout},
};

/// A brief job that took longer than this did not stay brief: the disk is busy.
const BRIEF: Duration = Duration::from_millis(1);
/// For how long brief jobs then go to the thread.
const BUSY: Duration = Duration::from_secs(1);

/// For how long at most a read that goes after others waits for them to end: then it has its turn, and they
/// are delayed by what it takes of the disk and the processors.
const AFTER_MAX: Duration = Duration::from_millis(20);

/// The thread that ran the jobs is gone, or the job panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log's I/O thread is gone")]
pub struct Gone;

/// By how much what runs behind is nicer than the rest: it gets a fifth to a quarter of a processor that
/// another thread wants, too.
const BEHIND_NICER: i32 = 5;

type Job = Box<dyn FnOnce() + Send>;

/// Runs blocking jobs, in order. Clones share the thread; it ends with the last of them.
#[derive(Clone)]
pub enum Runner {
    /// Threads of its own: one for the commit path, one for reads from disk, so that a reader far
    /// behind never delays a commit, one for reads that go after those, and one for what nobody waits for.
    Thread(Threads),
    /// In place, after a simulated delay.
    Inline(Rc<dyn Fn() -> Duration>),
}

/// The queues to a runner's threads.
#[derive(Clone)]
pub struct Threads {
    commit: mpsc::Sender<Job>,
    read: mpsc::Sender<Job>,
    behind: mpsc::Sender<Job>,
    /// For reads that go after others; started with the first.
    after: Rc<OnceCell<mpsc::Sender<Job>>>,
    reads: Rc<Reads>,
    name: Rc<str>,
    /// Until when brief jobs are not run in place.
    busy_until: Rc<Cell<Option<Instant>>>,
}

/// How many reads are under way.
#[derive(Default)]
struct Reads {
    count: Cell<usize>,
    ended: Notify,
}

impl Reads {
    fn begin(self: &Rc<Reads>) -> Read {
        self.count.set(self.count.get() + 1);
        Read(Rc::clone(self))
    }

    async fn none(&self) {
        while self.count.get() > 0 {
            self.ended.notified().await;
        }
    }
}

/// One of them.
struct Read(Rc<Reads>);

impl Drop for Read {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get() - 1);
        self.0.ended.notify_waiters();
    }
}

impl Runner {
    /// Starts the I/O threads, `name`, `name-read` and `name-behind`.
    ///
    /// # Errors
    /// The operating system refused a thread.
    pub fn thread(name: &str) -> io::Result<Runner> {
        Ok(Runner::Thread(Threads {
            commit: spawn(name.to_owned(), 0)?,
            read: spawn(format!("{name}-read"), 0)?,
            behind: spawn(format!("{name}-behind"), BEHIND_NICER)?,
            after: Rc::default(),
            reads: Rc::default(),
            name: name.into(),
            busy_until: Rc::default(),
        }))
    }

    /// For simulation: sleeps `delay()` of tokio's time, then runs the job in place.
    pub fn inline(delay: impl Fn() -> Duration + 'static) -> Runner {
        Runner::Inline(Rc::new(delay))
    }

    /// Runs a job where commits run. Once handed over it runs even if the future is dropped.
    ///
    /// # Errors
    /// `Gone` when the thread has ended or the job panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Gone> {
        self.run_on(|threads| &threads.commit, job).await
    }

    /// Runs a job that usually takes microseconds, such as a small write into the page cache. In
    /// place, which saves two switches of threads, unless the last such job took long: then on the
    /// thread for a while. Only one of `run` and `run_brief` may be waited for at a time, or jobs
    /// may overtake each other.
    ///
    /// # Errors
    /// `Gone` when the thread has ended or the job panicked.
    pub async fn run_brief<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Gone> {
        let Runner::Thread(threads) = self else {
            return self.run(job).await;
        };
        let begun = Instant::now();
        if threads.busy_until.get().is_some_and(|until| begun < until) {
            return submit(&threads.commit, job).await;
        }
        let result = catch_unwind(AssertUnwindSafe(job)).map_err(|_| Gone);
        let ended = Instant::now();
        if ended - begun > BRIEF {
            threads.busy_until.set(Some(ended + BUSY));
        }
        result
    }

    /// Runs a job that takes long and may take longer: beside all others, and after them where the
    /// processors do not suffice for all.
    ///
    /// # Errors
    /// `Gone` when the thread has ended or the job panicked.
    pub async fn run_behind<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Gone> {
        self.run_on(|threads| &threads.behind, job).await
    }

    /// Runs a job on a thread of its own, as nice as what runs behind: one that waits for the disk for a
    /// while, beside others that do, too. How many there are at once is the caller's to bound.
    ///
    /// # Errors
    /// `Gone` when the thread cannot be started or the job panicked.
    pub async fn run_apart<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Gone> {
        match self {
            Runner::Thread(_) => {
                let thread = spawn("apart".to_owned(), BEHIND_NICER).map_err(|_| Gone)?;
                submit(&thread, job).await
            }
            Runner::Inline(delay) => inline(delay(), job).await,
        }
    }

    /// Runs a job that reads, beside the commits.
    ///
    /// # Errors
    /// `Gone` when the thread has ended or the job panicked.
    pub async fn run_read<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Gone> {
        let _read = match self {
            Runner::Thread(threads) => Some(threads.reads.begin()),
            Runner::Inline(_) => None,
        };
        self.run_on(|threads| &threads.read, job).await
    }

    /// Runs a job that reads, on another thread than `run_read`, nicer, and not before the reads that are
    /// under way there have ended, or have had their time.
    ///
    /// # Errors
    /// `Gone` when the thread cannot be started, has ended, or the job panicked.
    pub async fn run_read_after<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Gone> {
        let Runner::Thread(threads) = self else {
            return self.run_read(job).await;
        };
        // Late or not, it is its turn now.
        let _ = timeout(AFTER_MAX, threads.reads.none()).await;
        let after = match threads.after.get() {
            Some(after) => after,
            None => {
                let name = format!("{}-after", threads.name);
                let started = spawn(name, BEHIND_NICER).map_err(|_| Gone)?;
                threads.after.get_or_init(|| started)
            }
        };
        submit(after, job).await
    }

    async fn run_on<T: Send + 'static>(
        &self,
        thread: fn(&Threads) -> &mpsc::Sender<Job>,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Gone> {
        match self {
            Runner::Thread(threads) => submit(thread(threads), job).await,
            Runner::Inline(delay) => inline(delay(), job).await,
        }
    }
}

/// `nicer` is by how much the thread is nicer than its process.
fn spawn(name: String, nicer: i32) -> io::Result<mpsc::Sender<Job>> {
    let (sender, jobs) = mpsc::channel::<Job>();
    thread::Builder::new().name(name).spawn(move || {
        if nicer > 0 {
            // It works as well, if less politely, where this is refused. `None` is this thread.
            let _ =
                getpriority_process(None).and_then(|nice| setpriority_process(None, nice + nicer));
        }
        for job in jobs {
            // A panic drops the job's answer, which its caller sees as `Gone`; later jobs still run.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    })?;
    Ok(sender)
}

/// The job is handed over at the call, not when the answer is first awaited.
fn submit<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
    jobs: &mpsc::Sender<Job>,
    job: F,
) -> impl Future<Output = Result<T, Gone>> + use<T, F> {
    let (answer, result) = oneshot::channel();
    let sent = jobs.send(Box::new(move || {
        // The caller may have stopped waiting.
        let _ = answer.send(job());
    }));
    async move {
        sent.map_err(|_| Gone)?;
        result.await.map_err(|_| Gone)
    }
}

async fn inline<T>(delay: Duration, job: impl FnOnce() -> T) -> Result<T, Gone> {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    Ok(job())
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
