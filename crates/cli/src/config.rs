//! The settings of `dunlin serve` and where they come from: [`flags`] (with the environment
//! behind them) win over the TOML [`mod@file`]; [`settings`] is the outcome, checked and complete;
//! [`open_doors`] is what a start warns of; [`room`] shares out among them what the machine has.

pub mod file;
pub mod flags;
pub mod open_doors;
pub mod origins;
pub mod room;
pub mod secret_file;
pub mod settings;
pub mod transactions;
mod word;
