//! Reading records from files of four formats and putting them into a keyspace, in constant
//! memory: [`record`] is what every format yields; [`jsonl`], [`csv`], [`deb822`] and [`exported`] are the
//! formats over [`lines`] or bytes of [`input`]; [`feed`] parses on its own thread; [`load`] puts;
//! [`report`] and [`progress`] tell.

pub mod csv;
pub mod deb822;
pub mod exported;
pub mod feed;
pub mod input;
pub mod jsonl;
pub mod lines;
pub mod load;
pub mod progress;
pub mod record;
pub mod report;
