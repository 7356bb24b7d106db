//! Sends a part of a file; with the first part of a table or blob file, the whole of it is checked.

use std::fs::File;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::Xxh3;

use super::carrier::Carrier;
use crate::CopyError;
use crate::plan::Part;
use crate::source::checkpoint::elsewhere;
use crate::source::{blob, table};
use crate::wire::codec::PREFIX_BYTES;
use crate::wire::message::kind;
use crate::wire::pair::Tally;

/// Bytes of a file in one frame.
const CHUNK_BYTES: u64 = 1 << 20;

/// Sends the bytes of `part`; answers what they come to.
pub(crate) fn send(carrier: &mut Carrier<'_>, part: &Part) -> Result<Tally, CopyError> {
    let path = carrier.shared.checkpoint_path.join(&part.file);
    let at = |error| CopyError::io(&path, error);
    if part.offset == 0 {
        // No copy is whole without a file's first part, so one check is enough.
        let checked = match path.extension().and_then(|ending| ending.to_str()) {
            Some("sst") => table::check(&path),
            Some("blob") => blob::check(&path),
            _ => Ok(()),
        };
        checked.map_err(|error| elsewhere(error, carrier.shared.source_path))?;
    }
    let file = File::open(&path).map_err(at)?;
    let mut hash = Xxh3::new();
    let mut sent = 0;
    while sent < part.length {
        let length = CHUNK_BYTES.min(part.length - sent);
        let mut chunk = vec![0; PREFIX_BYTES + length as usize];
        let offset = part.offset + sent;
        file.read_exact_at(&mut chunk[PREFIX_BYTES..], offset)
            .map_err(at)?;
        hash.update(&chunk[PREFIX_BYTES..]);
        carrier.data(kind::BYTES, chunk, 0, length)?;
        sent += length;
    }
    Ok(Tally {
        pairs: 0,
        bytes: part.length,
        checksum: hash.digest128(),
    })
}
