//! One unit as it arrives.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use rocksdb::{FlushOptions, SstFileWriter, WriteBatch};
use xxhash_rust::xxh3::Xxh3;

use super::active::Active;
use super::insert::insert;
use super::place::sync_directory;
use super::progress::Received;
use crate::CopyError;
use crate::gate::LARGE_BYTES;
use crate::plan::{Mode, Part, Range, Unit};
use crate::source::database::handle;
use crate::wire::codec;
use crate::wire::link::Received as Incoming;
use crate::wire::pair::{Pairs, Tally};

/// A unit that has begun to arrive.
pub(crate) struct Writer<'a> {
    active: &'a Active,
    number: u32,
    unit: &'a Unit,
    tally: Tally,
    form: Form<'a>,
}

enum Form<'a> {
    Table {
        writer: SstFileWriter<'a>,
        temporary: PathBuf,
    },
    Insert(&'a Range),
    File {
        file: File,
        path: PathBuf,
        hash: Box<Xxh3>,
        left: u64,
    },
}

impl<'a> Writer<'a> {
    /// Begins unit `number`.
    pub fn begin(active: &'a Active, number: u32) -> Result<Writer<'a>, CopyError> {
        let units = &active.plan.units;
        let unit = units
            .get(number as usize)
            .ok_or_else(|| CopyError::Refused(format!("the plan has no unit {number}")))?;
        let form = match (unit, active.plan.mode) {
            (Unit::Part(part), _) => file(active, part)?,
            (Unit::Range(range), Mode::Insert) => Form::Insert(range),
            (Unit::Range(_), _) => {
                let name = format!("{number}-{}.tmp", active.attempt());
                let temporary = active.place.tables().join(name);
                let writer = SstFileWriter::create(&active.table_options);
                Form::Table { writer, temporary }
            }
        };
        Ok(Writer {
            active,
            number,
            unit,
            tally: Tally::default(),
            form,
        })
    }

    /// Pairs of it. The frame's memory is given back as soon as a copy of it exists, but not the
    /// right to hold something large: the copy is as large.
    pub fn pairs(&mut self, mut frame: Incoming, received: &Received) -> Result<(), CopyError> {
        let before = self.tally;
        let body = std::mem::take(&mut frame.body);
        let raw = codec::unpack(&body).map_err(|detail| self.garbled(detail))?;
        let malformed = || CopyError::Mismatch {
            what: self.unit.to_string(),
        };
        match &mut self.form {
            Form::Table { writer, temporary } => {
                let failed = |error: rocksdb::Error| CopyError::database(temporary, &error);
                for pair in Pairs(&raw) {
                    let pair = pair.map_err(|_| malformed())?;
                    if self.tally.pairs == 0 {
                        writer.open(&*temporary).map_err(failed)?;
                    }
                    writer.put(pair.key, pair.value).map_err(failed)?;
                    self.tally.add(pair.encoded);
                }
            }
            Form::Insert(range) => {
                let mut batch = WriteBatch::default();
                let Some(db) = &self.active.database else {
                    return Err(CopyError::Refused("every unit has arrived".to_owned()));
                };
                let family = handle(db, &range.column_family)?;
                for pair in Pairs(&raw) {
                    let pair = pair.map_err(|_| malformed())?;
                    batch.put_cf(family, pair.key, pair.value);
                    self.tally.add(pair.encoded);
                }
                let is_large = raw.len() > LARGE_BYTES;
                drop(raw);
                drop(body);
                insert(db, batch, is_large)?;
                if is_large {
                    // Memtables of several large values would be too much memory.
                    flush(self.active, range)?;
                }
            }
            Form::File { .. } => return Err(malformed()),
        }
        received.add(
            self.tally.pairs - before.pairs,
            self.tally.bytes - before.bytes,
        );
        Ok(())
    }

    /// Bytes of it.
    pub fn bytes(&mut self, frame: Incoming, received: &Received) -> Result<(), CopyError> {
        let raw = codec::unpack(&frame.body).map_err(|detail| self.garbled(detail))?;
        let Form::File {
            file,
            path,
            hash,
            left,
        } = &mut self.form
        else {
            return Err(CopyError::Mismatch {
                what: self.unit.to_string(),
            });
        };
        *left = left
            .checked_sub(raw.len() as u64)
            .ok_or_else(|| CopyError::Mismatch {
                what: self.unit.to_string(),
            })?;
        file.write_all(&raw)
            .map_err(|error| CopyError::io(path, error))?;
        hash.update(&raw);
        self.tally.bytes += raw.len() as u64;
        received.add(0, raw.len() as u64);
        Ok(())
    }

    /// All has been sent: compares with what the sender read, and puts it on disk.
    pub fn end(self, sent: &Tally) -> Result<(), CopyError> {
        let mut tally = self.tally;
        if let Form::File { hash, .. } = &self.form {
            tally.checksum = hash.digest128();
        }
        let short = matches!(&self.form, Form::File { left, .. } if *left > 0);
        if short || tally != *sent {
            return Err(CopyError::Mismatch {
                what: self.unit.to_string(),
            });
        }
        match self.form {
            // A table must not be empty; a range without pairs needs none.
            Form::Table { .. } if tally.pairs == 0 => {}
            Form::Table {
                mut writer,
                temporary,
            } => {
                let failed = |error: rocksdb::Error| CopyError::database(&temporary, &error);
                if let Err(error) = writer.finish() {
                    drop(writer);
                    // What is left of it may be what fills the disk.
                    let _ = fs::remove_file(&temporary);
                    return Err(failed(error));
                }
                let tables = self.active.place.tables();
                let whole = tables.join(format!("{}.sst", self.number));
                fs::rename(&temporary, &whole).map_err(|error| CopyError::io(&whole, error))?;
                sync_directory(&tables)?;
            }
            Form::Insert(range) => flush(self.active, range)?,
            Form::File { file, path, .. } => {
                file.sync_all()
                    .map_err(|error| CopyError::io(&path, error))?;
                sync_directory(&self.active.place.database())?;
            }
        }
        self.active.note(self.number, tally)
    }

    fn garbled(&self, detail: &str) -> CopyError {
        CopyError::Mismatch {
            what: format!("{} ({detail})", self.unit),
        }
    }

    /// It will not be completed.
    pub fn abandon(self) {
        if let Form::Table { writer, temporary } = self.form {
            drop(writer);
            let _ = fs::remove_file(temporary);
        }
    }
}

fn file<'a>(active: &Active, part: &Part) -> Result<Form<'a>, CopyError> {
    let path = active.place.database().join(&part.file);
    let at = |error| CopyError::io(&path, error);
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let mut file = opened.map_err(at)?;
    file.seek(SeekFrom::Start(part.offset)).map_err(at)?;
    Ok(Form::File {
        file,
        hash: Box::default(),
        left: part.length,
        path,
    })
}

/// Puts what was inserted into a column family on disk.
fn flush(active: &Active, range: &Range) -> Result<(), CopyError> {
    let Some(db) = &active.database else {
        return Ok(());
    };
    let mut options = FlushOptions::default();
    options.set_wait(true);
    db.flush_cf_opt(handle(db, &range.column_family)?, &options)
        .map_err(|error| CopyError::database(db.path(), &error))
}
