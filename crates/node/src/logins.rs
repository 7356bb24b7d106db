//! Checking passwords: slow on purpose, and so never on an event loop, few at a time, with a bounded
//! number of those who wait. Shared by all nodes of a process.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dunlin_log::Runner;
use dunlin_metadata::Hash;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::limits::{LOGINS_AT_ONCE, LOGINS_REMEMBERED, LOGINS_WAITING, LOGINS_WAITING_OF_ONE};

/// Memory of one hash in KiB, passes over it, and lanes: OWASP's recommendation for argon2id.
const MEMORY_KIB: u32 = 19 << 10;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Bytes of a salt and of a token.
const SALT_BYTES: usize = 16;
const TOKEN_BYTES: usize = 32;
/// What tokens begin with, for those who find one lying about.
const TOKEN_PREFIX: &str = "dunlin_";
/// Failed logins are told once in so many milliseconds.
const TOLD_MS: u64 = 1_000;

/// A SHA-256.
pub(crate) type Sha = [u8; 32];

/// What a password was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It is the user's.
    Right,
    /// It is not, or there is no such user.
    Wrong,
    /// Too many wait.
    Busy,
}

/// How logins went.
#[derive(Default)]
pub(crate) struct Counts {
    pub failed: AtomicU64,
    pub forbidden: AtomicU64,
    pub busy: AtomicU64,
    pub hashed: AtomicU64,
    /// Until when none is told, and how many were not told since.
    quiet_until_ms: AtomicU64,
    silent: AtomicU64,
}

impl Counts {
    /// Counts one that failed. `None` while others have just been told, else how many were not.
    pub fn failed(&self, now_ms: u64) -> Option<u64> {
        self.failed.fetch_add(1, Relaxed);
        let until = self.quiet_until_ms.load(Relaxed);
        let next = now_ms.saturating_add(TOLD_MS);
        // A clock that was set back must not keep them quiet for long.
        let is_quiet = now_ms < until && until <= next;
        let is_told = !is_quiet
            && (self.quiet_until_ms)
                .compare_exchange(until, next, Relaxed, Relaxed)
                .is_ok();
        if !is_told {
            self.silent.fetch_add(1, Relaxed);
            return None;
        }
        Some(self.silent.swap(0, Relaxed))
    }

    pub fn forbidden(&self) {
        self.forbidden.fetch_add(1, Relaxed);
    }
}

/// Passwords of all nodes of a process.
pub(crate) struct Logins {
    pub counts: Counts,
    /// Keys what is remembered.
    key: OnceLock<Sha>,
    /// Which passwords were found to fit which hashes, by a keyed hash of both.
    remembered: Cache<Sha, ()>,
    /// What is checked for users that there are not: nobody's.
    decoy: OnceLock<String>,
    turns: Arc<Semaphore>,
    waiting: Mutex<HashMap<IpAddr, usize>>,
}

/// One that waits, or is being checked.
struct Waiting<'a>(&'a Logins, IpAddr);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waiting = self
            .0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = waiting.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.1);
            }
        }
    }
}

impl Logins {
    pub fn new() -> Arc<Logins> {
        Arc::new(Logins {
            counts: Counts::default(),
            key: OnceLock::new(),
            remembered: Cache::new(LOGINS_REMEMBERED),
            decoy: OnceLock::new(),
            turns: Arc::new(Semaphore::new(LOGINS_AT_ONCE)),
            waiting: Mutex::default(),
        })
    }

    /// Whether a password fits the hash of its user; with none as long as with one.
    pub async fn check(
        self: &Arc<Logins>,
        runner: &Runner,
        from: IpAddr,
        hash: Option<String>,
        password: Vec<u8>,
    ) -> Checked {
        let key = self.key_of(hash.as_deref().unwrap_or_default(), &password);
        let is_remembered = || hash.is_some() && self.remembered.get(&key).is_some();
        if is_remembered() {
            return Checked::Right;
        }
        let Some(_waiting) = self.wait(from) else {
            self.counts.busy.fetch_add(1, Relaxed);
            return Checked::Busy;
        };
        let Ok(turn) = self.turns.clone().acquire_owned().await else {
            return Checked::Busy;
        };
        // Others of the same user may have waited before.
        if is_remembered() {
            return Checked::Right;
        }
        let is_anybodys = hash.is_some();
        let logins = self.clone();
        let job = move || {
            let hash = hash.as_deref().unwrap_or_else(|| logins.decoy());
            let fits = fits(hash, &password);
            logins.counts.hashed.fetch_add(1, Relaxed);
            // Given back when it is done, whoever still waits for it.
            drop(turn);
            fits
        };
        match runner.run_behind(job).await {
            Ok(true) if is_anybodys => {
                self.remembered.insert(key, ());
                Checked::Right
            }
            Ok(_) => Checked::Wrong,
            Err(_) => Checked::Busy,
        }
    }

    /// The hash of a new password; `None` when too many wait.
    pub async fn hash(
        self: &Arc<Logins>,
        runner: &Runner,
        from: IpAddr,
        password: Vec<u8>,
    ) -> Option<Hash> {
        let _waiting = self.wait(from)?;
        let turn = self.turns.clone().acquire_owned().await.ok()?;
        let job = move || {
            let hash = password_hash(&password);
            drop(turn);
            hash
        };
        runner.run_behind(job).await.ok().flatten()
    }

    fn wait(&self, from: IpAddr) -> Option<Waiting<'_>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = waiting.values().sum();
        let own = waiting.get(&from).copied().unwrap_or(0);
        if all >= LOGINS_WAITING || own >= LOGINS_WAITING_OF_ONE {
            return None;
        }
        waiting.insert(from, own + 1);
        Some(Waiting(self, from))
    }

    fn key_of(&self, hash: &str, password: &[u8]) -> Sha {
        let mut sha = Sha256::new();
        sha.update(self.key.get_or_init(random));
        sha.update((hash.len() as u64).to_le_bytes());
        sha.update(hash);
        sha.update(password);
        sha.finalize().into()
    }

    fn decoy(&self) -> &str {
        self.decoy.get_or_init(|| {
            let hash = password_hash(&random::<TOKEN_BYTES>());
            hash.map_or_else(String::new, |hash| hash.reveal().to_owned())
        })
    }
}

/// Shorter passwords are guessed.
const PASSWORD_CHARS_MIN: usize = 8;
/// Longer ones do not fit a header with room to spare.
const PASSWORD_BYTES_MAX: usize = 1024;

/// Whether somebody may have this password.
///
/// # Errors
/// The rule that it breaks.
pub fn check_password(password: &str) -> Result<(), String> {
    if password.chars().count() < PASSWORD_CHARS_MIN || password.len() > PASSWORD_BYTES_MAX {
        return Err(format!(
            "a password has {PASSWORD_CHARS_MIN} characters to {PASSWORD_BYTES_MAX} bytes"
        ));
    }
    if password.contains(char::is_control) {
        return Err("a password holds no control characters".to_owned());
    }
    Ok(())
}

/// The PHC string of a password, with a salt of its own; `None` when there is no memory for it.
pub fn password_hash(password: &[u8]) -> Option<Hash> {
    let salt = SaltString::encode_b64(&random::<SALT_BYTES>()).ok()?;
    let hashed = argon2()?.hash_password(password, &salt).ok()?;
    Some(Hash::new(hashed.to_string()))
}

/// Compares in constant time.
fn fits(hash: &str, password: &[u8]) -> bool {
    let (Ok(hash), Some(argon2)) = (PasswordHash::new(hash), argon2()) else {
        return false;
    };
    argon2.verify_password(password, &hash).is_ok()
}

fn argon2() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// A new token.
pub(crate) fn new_token() -> String {
    let token = URL_SAFE_NO_PAD.encode(random::<TOKEN_BYTES>());
    format!("{TOKEN_PREFIX}{token}")
}

/// What a token is recognised by. It needs no salt and no slowness: there are 256 bits to guess.
pub(crate) fn token_hash(token: &[u8]) -> Sha {
    Sha256::digest(token).into()
}

/// As it is stored.
pub(crate) fn hex(sha: &Sha) -> Hash {
    let digits: String = sha.iter().map(|byte| format!("{byte:02x}")).collect();
    Hash::new(digits)
}

/// Bytes that nobody can guess.
///
/// # Panics
/// When the system has none: what is to be secret cannot be.
#[allow(
    clippy::expect_used,
    reason = "without randomness there are no secrets; Linux has had it since its start"
)]
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system's randomness");
    bytes
}

#[cfg(test)]
#[path = "logins_tests.rs"]
mod tests;
