//! Several files in one input: `seal u8 | first number u8 | files u8`, then for each file
//! `length u16 | zeros behind it, in 32 bytes, u8 | bytes`.

use crate::{input::Input, segment};

/// Most bytes of one file of an input, zeros aside.
pub const FILE_BYTES_MAX: usize = u16::MAX as usize;

/// The files of an input.
pub struct Packed {
    /// Segment number and contents.
    pub files: Vec<(u64, Vec<u8>)>,
    /// Whether compressed batches may be in them.
    pub batches: bool,
}

/// Takes an input apart.
pub fn unpack(data: &[u8]) -> Packed {
    let mut input = Input(data);
    let seal = input.u8() & 1 == 1;
    let first = 1 + u64::from(input.u8() % 4);
    let count = 1 + u64::from(input.u8() % 3);
    let mut batches = false;
    let files = (first..first + count)
        .map(|number| {
            let length = usize::from(input.u16());
            let zeros = 32 * usize::from(input.u8());
            let mut bytes = input.bytes(length).to_vec();
            bytes.resize(bytes.len() + zeros, 0);
            if seal {
                batches |= segment::seal(&mut bytes);
            }
            (number, bytes)
        })
        .collect();
    // Without checksums put right, batches are there when a seed brought them.
    Packed {
        files,
        batches: batches || !seal,
    }
}

/// Puts files together to an input. Zeros at a file's end take no room.
pub fn pack(seal: bool, first: u64, files: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![u8::from(seal), (first - 1) as u8, (files.len() - 1) as u8];
    for file in files {
        let used = file
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |at| at + 1);
        let zeros = ((file.len() - used) / 32).min(255);
        assert!(used <= FILE_BYTES_MAX, "a seed of {used} bytes");
        out.extend((used as u16).to_le_bytes());
        out.push(zeros as u8);
        out.extend(&file[..used]);
    }
    out
}
