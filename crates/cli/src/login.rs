//! Who asks: flags, files, and passwords typed without being shown. Never an argument, which
//! everybody on the machine could read.

use std::io::{IsTerminal, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use console::Term;
use dunlin_client::Credentials;

use crate::failure::Failure;

/// A longer file holds no password.
const BYTES_MAX: u64 = 4 << 10;

/// Who asks, where the cluster has users.
#[derive(Debug, Clone, Default, Args)]
pub struct Login {
    /// User to ask as, with --password-file or a password typed
    #[arg(long, env = "DUNLIN_USER", value_name = "NAME")]
    user: Option<String>,
    /// File with that user's password; `-` is standard input
    #[arg(long, env = "DUNLIN_PASSWORD_FILE", value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// File with a token to ask with
    #[arg(
        long,
        env = "DUNLIN_TOKEN_FILE",
        value_name = "FILE",
        conflicts_with_all = ["user", "password_file"]
    )]
    token_file: Option<PathBuf>,
}

impl Login {
    /// Who asks these servers. One line warns when others on the way could read it.
    pub fn read(&self, servers: &str) -> Result<Option<Credentials>, Failure> {
        let credentials = match (&self.token_file, &self.user) {
            (Some(file), _) => Credentials::Token(secret(file)?),
            (None, Some(user)) => Credentials::Password {
                user: user.clone(),
                password: match &self.password_file {
                    Some(file) => secret(file)?,
                    None => typed(&format!("Password of {user}: "), "--password-file FILE")?,
                },
            },
            (None, None) if self.password_file.is_some() => {
                return Err(Failure::Usage(
                    "--password-file goes with --user NAME".to_owned(),
                ));
            }
            (None, None) => return Ok(None),
        };
        if let Some(server) = readable_on_the_way(servers) {
            eprintln!(
                "dunlin: the password or token goes to {server} unencrypted: whoever is on the way \
                 can read it"
            );
        }
        Ok(Some(credentials))
    }
}

/// The first of these servers that is on another machine and spoken to in plain text.
fn readable_on_the_way(servers: &str) -> Option<&str> {
    let is_safe = |server: &str| {
        if server.starts_with("https://") {
            return true;
        }
        let rest = server.strip_prefix("http://").unwrap_or(server);
        let rest = rest.split('/').next().unwrap_or(rest);
        let host = match rest.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or(v6),
            None => rest.split(':').next().unwrap_or(rest),
        };
        let is_loopback = |ip: IpAddr| ip.is_loopback();
        host == "localhost" || host.parse().is_ok_and(is_loopback)
    };
    let servers = servers.split(',').map(str::trim);
    servers
        .filter(|server| !server.is_empty())
        .find(|server| !is_safe(server))
}

/// The first line of a file, or of standard input.
pub fn secret(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().take(BYTES_MAX).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::file(file, &error))?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err(Failure::Usage(format!(
            "{} is empty: its first line is the secret",
            file.display()
        )));
    }
    Ok(line.to_owned())
}

/// A password that somebody types; `instead` is how to give it where nobody does.
pub fn typed(question: &str, instead: &str) -> Result<String, Failure> {
    let terminal = Term::stderr();
    if !std::io::stdin().is_terminal() || !terminal.is_term() {
        return Err(Failure::Usage(format!(
            "there is no terminal to type a password at: {instead} names a file with it"
        )));
    }
    let failed = |error: std::io::Error| Failure::Failed(format!("no password was read: {error}"));
    terminal.write_str(question).map_err(failed)?;
    terminal.read_secure_line().map_err(failed)
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
