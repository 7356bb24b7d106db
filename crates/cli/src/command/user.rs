//! `dunlin user`: who may use the cluster, and for what.

mod rescue;

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use dunlin_client::{ChangedUsers, Client, NewUser, SetUser, Users};
use dunlin_metadata::{ALL, Role};

use crate::connect::Server;
use crate::failure::Failure;
use crate::login::{secret, typed};
use crate::output::Output;
use crate::runtime;
use crate::table::{Align, Cell, Table};
use rescue::Rescue;

const ADD_EXAMPLES: &str = "\
The first user makes the cluster closed to all who are none, so it is an administrator of all: role
admin on '*'. Roles: read (read), write (and write), admin (and drop the keyspace; on '*' make
keyspaces, users, and change members). The password is asked for twice, or comes from a file; a
token is printed once.

Examples:
  dunlin user add ann --role admin --keyspace '*'
  dunlin user add loader --role write --keyspace birds --token --user ann
  dunlin put --keyspace birds knot 'red in summer' --token-file loader.token";

const DISABLE_EXAMPLES: &str = "\
Drops all users: from then on everybody who reaches a node may do everything, as before the first.";

/// Verbs of `user`.
#[derive(Debug, Subcommand)]
pub enum User {
    /// Make a user; the first closes the cluster to all others
    #[command(after_help = ADD_EXAMPLES)]
    Add(Add),
    /// Change a user's roles, password or tokens
    Set(Set),
    /// List the users
    #[command(visible_alias = "ls")]
    List(List),
    /// Drop a user, who may do nothing from then on
    Drop(DropUser),
    /// Drop all users, and let everybody in again
    #[command(after_help = DISABLE_EXAMPLES)]
    Disable(Disable),
    /// Get back in when no administrator's password is known: by the metadata store itself
    #[command(after_help = rescue::EXAMPLES)]
    Rescue(Rescue),
}

/// Arguments of `user add`.
#[derive(Debug, Args)]
pub struct Add {
    /// Name
    name: String,
    /// What it may do: read, write or admin
    #[arg(long)]
    role: Role,
    /// Keyspace it may do that with, or '*' for all; may be repeated
    #[arg(
        long,
        short = 'k',
        value_name = "NAME",
        required = true,
        value_delimiter = ','
    )]
    keyspace: Vec<String>,
    /// File with its password; `-` is standard input [default: asked for, unless there is --token]
    #[arg(long, value_name = "FILE")]
    new_password_file: Option<PathBuf>,
    /// Make a token, and print it
    #[arg(long)]
    token: bool,
    #[command(flatten)]
    server: Server,
}

/// Arguments of `user set`.
#[derive(Debug, Args)]
pub struct Set {
    /// Name
    name: String,
    /// What it may do with --keyspace: read, write or admin
    #[arg(long, requires = "keyspace")]
    role: Option<Role>,
    /// Keyspace, or '*' for all; its other roles stay
    #[arg(
        long,
        short = 'k',
        value_name = "NAME",
        requires = "role",
        value_delimiter = ','
    )]
    keyspace: Vec<String>,
    /// Keyspace, or '*', for which its role ends; may be repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    revoke: Vec<String>,
    /// Ask for a new password
    #[arg(long, conflicts_with = "new_password_file")]
    password: bool,
    /// File with a new password; `-` is standard input
    #[arg(long, value_name = "FILE")]
    new_password_file: Option<PathBuf>,
    /// Make one more token, and print it
    #[arg(long)]
    token: bool,
    /// Take all its tokens away
    #[arg(long, conflicts_with = "token")]
    no_tokens: bool,
    #[command(flatten)]
    server: Server,
}

/// Arguments of `user list`.
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    server: Server,
    /// A JSON object
    #[arg(long)]
    json: bool,
}

/// Arguments of `user drop`.
#[derive(Debug, Args)]
pub struct DropUser {
    /// Name
    name: String,
    #[command(flatten)]
    server: Server,
}

/// Arguments of `user disable`.
#[derive(Debug, Args)]
pub struct Disable {
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
    #[command(flatten)]
    server: Server,
}

impl User {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            match self {
                User::Add(add) => add.run().await,
                User::Set(set) => set.run().await,
                User::List(list) => list.run().await,
                User::Drop(drop) => {
                    let client = drop.server.client()?;
                    tell(client.drop_user(&drop.name).await?)
                }
                User::Disable(disable) => disable.run().await,
                User::Rescue(rescue) => rescue.run().await,
            }
        })
    }
}

impl Add {
    async fn run(self) -> Result<(), Failure> {
        let client = self.server.client()?;
        let password = match (&self.new_password_file, self.token) {
            (Some(file), _) => Some(secret(file)?),
            (None, true) => None,
            (None, false) => Some(new_password(&self.name)?),
        };
        let role = self.role.to_string();
        let roles = self.keyspace.into_iter().map(|name| (name, role.clone()));
        let user = NewUser {
            name: self.name,
            roles: roles.collect(),
            password,
            token: self.token,
        };
        tell(client.add_user(&user).await?)
    }
}

impl Set {
    async fn run(self) -> Result<(), Failure> {
        let client = self.server.client()?;
        let password = match (&self.new_password_file, self.password) {
            (Some(file), _) => Some(secret(file)?),
            (None, true) => Some(new_password(&self.name)?),
            (None, false) => None,
        };
        let roles = if self.keyspace.is_empty() && self.revoke.is_empty() {
            None
        } else {
            Some(self.roles(&client).await?)
        };
        let set = SetUser {
            roles,
            password,
            token: match (self.token, self.no_tokens) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
        };
        tell(client.set_user(&self.name, &set).await?)
    }

    /// Those it has, with what was asked for.
    async fn roles(&self, client: &Client) -> Result<BTreeMap<String, String>, Failure> {
        let users = client.users().await?.users;
        let user = users.into_iter().find(|user| user.name == self.name);
        let missing = || Failure::NotFound(format!("there is no user {}", self.name));
        let mut roles = user.ok_or_else(missing)?.roles;
        for name in &self.revoke {
            if roles.remove(name).is_none() {
                return Err(Failure::Usage(format!(
                    "{} has no role on {name}",
                    self.name
                )));
            }
        }
        if let Some(role) = self.role {
            let given = self.keyspace.iter();
            roles.extend(given.map(|name| (name.clone(), role.to_string())));
        }
        Ok(roles)
    }
}

impl List {
    async fn run(self) -> Result<(), Failure> {
        let users = self.server.client()?.users().await?;
        let mut output = Output::new();
        if self.json {
            output.json(&users)?;
            return output.flush();
        }
        if !users.closed {
            output.line("no users: everybody who reaches a node may do everything")?;
            return output.flush();
        }
        output.bytes(table(&users).render(false).as_bytes())?;
        output.flush()
    }
}

fn table(users: &Users) -> Table {
    let mut table = Table::new(&[
        ("USER", Align::Left),
        ("ROLES", Align::Left),
        ("PASSWORD", Align::Left),
        ("TOKENS", Align::Right),
        ("CHANGED BY", Align::Left),
    ]);
    for user in &users.users {
        let roles = user.roles.iter();
        let roles: Vec<String> = roles
            .map(|(name, role)| {
                if name == ALL {
                    format!("{role} on all")
                } else {
                    format!("{role} on {name}")
                }
            })
            .collect();
        table.row(vec![
            Cell::plain(&user.name),
            Cell::plain(roles.join(", ")),
            Cell::plain(if user.has_password { "yes" } else { "no" }),
            Cell::plain(user.tokens),
            Cell::plain(&user.changed_by),
        ]);
    }
    table
}

impl Disable {
    async fn run(self) -> Result<(), Failure> {
        let client = self.server.client()?;
        if !self.yes {
            asked(io::stdin().is_terminal(), &mut io::stdin().lock())?;
        }
        tell(client.disable_users().await?)
    }
}

/// Asks a person; whoever is none is told how to say it.
fn asked(is_person: bool, answers: &mut impl BufRead) -> Result<(), Failure> {
    let kept = |line: &str| Err(Failure::Usage(line.to_owned()));
    if !is_person {
        return kept("without users everybody who reaches a node may do everything: --yes says so");
    }
    let mut errors = io::stderr();
    // Who cannot read the question cannot answer it either.
    let _ = write!(
        errors,
        "Drop all users, and let everybody who reaches a node do everything? [y/N] "
    );
    let _ = errors.flush();
    let mut answer = String::new();
    let read = answers.read_line(&mut answer);
    match (read, answer.trim()) {
        (Ok(_), "y" | "Y" | "yes") => Ok(()),
        _ => kept("no user was dropped"),
    }
}

/// A new password, typed twice.
fn new_password(name: &str) -> Result<String, Failure> {
    let instead = "--new-password-file FILE";
    let first = typed(&format!("New password of {name}: "), instead)?;
    let second = typed("Once more: ", instead)?;
    if first == second {
        Ok(first)
    } else {
        Err(Failure::Usage(
            "these were two different passwords: nothing was changed".to_owned(),
        ))
    }
}

/// Prints the token, if one was made, and names the nodes that do not know of the change yet.
fn tell(changed: ChangedUsers) -> Result<(), Failure> {
    let mut output = Output::new();
    if let Some(token) = &changed.token {
        output.line(token)?;
    }
    output.flush()?;
    if !changed.waits_for.is_empty() {
        eprintln!(
            "dunlin: it is done, but {} did not hear of it yet: down, cut off from the metadata \
             store, or of a version without users; until then they go by what they know",
            changed.waits_for.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
#[path = "user_tests.rs"]
mod tests;
