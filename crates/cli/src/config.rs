//! The settings of `dunlin serve` and where they come from: [`flags`] (with the environment
//! behind them) win over the TOML [`mod@file`]; [`settings`] is the outcome, checked and complete.

pub mod file;
pub mod flags;
pub mod settings;
mod word;
