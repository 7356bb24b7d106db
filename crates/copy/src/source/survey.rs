//! What the tables hold besides values that are one text of bytes. Whoever copies pairs looks before
//! it sends the first: an iterator gives no more than the default column of an entity of several.

use rocksdb::LiveFile;

use super::checkpoint::{Checkpoint, elsewhere};
use super::database::Source;
use super::table::{self, Record};
use crate::CopyError;
use crate::gate::Gate;
use crate::plan::Mode;
use crate::queue::Queue;
use crate::settings::Settings;
use crate::watch::Watch;

/// Tables of so many bytes together take long enough for a word.
const LONG_BYTES: usize = 1 << 30;

/// Refuses a source of which copying in `mode` would lose something, and names what that is.
pub(crate) fn check(
    source: &Source,
    mode: Mode,
    settings: &Settings,
    watch: &Watch,
) -> Result<(), CopyError> {
    match mode {
        // Tables go as they are, with all that is in them.
        Mode::Files => Ok(()),
        Mode::Ingest | Mode::Insert => pairs(source, settings, watch),
    }
}

/// Refuses a checkpoint whose pairs are not all that it holds, its logs included.
pub(crate) fn all(
    checkpoint: &mut Checkpoint,
    settings: &Settings,
    watch: &Watch,
) -> Result<(), CopyError> {
    let source = Source::open(checkpoint, &settings.source, &settings.column_families)?;
    pairs(&source, settings, watch)
}

fn pairs(source: &Source, settings: &Settings, watch: &Watch) -> Result<(), CopyError> {
    let of_copied = |file: &&LiveFile| source.column_families.contains(&file.column_family_name);
    let files: Vec<&LiveFile> = source.files.iter().filter(of_copied).collect();
    if files.iter().map(|file| file.size).sum::<usize>() > LONG_BYTES {
        watch.notice("looking through the tables for what only --mode files carries".to_owned());
    }
    let connections = settings.connections.clamp(1, files.len().max(1));
    let queue = Queue::new(files);
    let gate = Gate::default();
    std::thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                while let Some(file) = queue.next() {
                    if let Err(error) = table(source, file, &gate, &queue, watch) {
                        return queue.fail(error);
                    }
                }
            });
        }
    });
    queue
        .end()
        .map_err(|error| elsewhere(error, &settings.source))
}

fn table(
    source: &Source,
    file: &LiveFile,
    gate: &Gate,
    queue: &Queue<&LiveFile>,
    watch: &Watch,
) -> Result<(), CopyError> {
    let path = source.path_of(file);
    // A large block is in memory alone.
    let _permit = source.has_large_block(file).then(|| gate.wait());
    match table::survey(&path, &mut || queue.check(watch))? {
        None => Ok(()),
        Some(record) => Err(CopyError::Unsupported {
            detail: lost(&file.column_family_name, record),
            path,
        }),
    }
}

fn lost(family: &str, record: Record) -> String {
    match record {
        Record::Merge => format!(
            "column family {family:?} has merge operands, which only the program that wrote it \
             can read; use --mode files, or compact it there first"
        ),
        Record::Entity => format!(
            "column family {family:?} has wide-column entities, of whose columns only one is a \
             pair; --mode files carries them, nothing here compares them"
        ),
        Record::Unknown(kind) => format!(
            "column family {family:?} has records of a kind that is not known here ({kind:#04x}); \
             use --mode files"
        ),
    }
}
