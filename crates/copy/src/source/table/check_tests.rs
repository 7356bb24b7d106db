#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::path::PathBuf;

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, ChecksumType, DB, DBCompressionType,
    DataBlockIndexType, Options,
};

use super::*;

/// The largest table of a database made with these settings.
fn table(
    directory: &Path,
    table: &BlockBasedOptions,
    compression: DBCompressionType,
    is_large: bool,
) -> PathBuf {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(table);
    options.set_compression_type(compression);
    let families = [("default", options.clone())];
    let db = DB::open_cf_with_opts(&options, directory, families).unwrap();
    for number in 0..5_000u64 {
        let key = format!("prefix/{:010}", number * number);
        let value = format!("{number} {}", "value ".repeat((number % 40) as usize));
        db.put(key, value).unwrap();
    }
    // Larger than what is read at once.
    let noise = |i: u32| xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes()).to_le_bytes();
    let large: Vec<u8> = (0..400_000).flat_map(noise).collect();
    if is_large {
        db.put("large", large).unwrap();
    }
    db.delete_range_cf(db.cf_handle("default").unwrap(), "prefix/1", "prefix/2")
        .unwrap();
    db.flush().unwrap();
    let name = db.live_files().unwrap()[0].name.clone();
    directory.join(name.trim_start_matches('/'))
}

fn forms() -> Vec<(String, BlockBasedOptions)> {
    let mut forms = Vec::new();
    for version in 2..=7 {
        for (name, index) in [
            (
                "binary",
                (|| BlockBasedIndexType::BinarySearch) as fn() -> BlockBasedIndexType,
            ),
            ("two levels", || BlockBasedIndexType::TwoLevelIndexSearch),
        ] {
            for (sum, checksum) in [
                ("none", ChecksumType::NoChecksum),
                ("crc32c", ChecksumType::CRC32c),
                ("xxh32", ChecksumType::XXHash),
                ("xxh64", ChecksumType::XXHash64),
                ("xxh3", ChecksumType::XXH3),
            ] {
                let mut form = BlockBasedOptions::default();
                form.set_format_version(version);
                form.set_index_type(index());
                form.set_checksum_type(checksum);
                form.set_bloom_filter(10.0, false);
                form.set_block_size(1 << 10);
                form.set_metadata_block_size(512);
                if version % 2 == 1 {
                    form.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
                }
                forms.push((format!("version {version}, {name}, {sum}"), form));
            }
        }
    }
    forms
}

#[test]
fn every_form_of_a_whole_table_is_whole() {
    let compressions = [
        DBCompressionType::None,
        DBCompressionType::Snappy,
        DBCompressionType::Zlib,
        DBCompressionType::Bz2,
        DBCompressionType::Lz4,
        DBCompressionType::Lz4hc,
        DBCompressionType::Zstd,
    ];
    for (number, (name, form)) in forms().into_iter().enumerate() {
        for (at, compression) in compressions.into_iter().enumerate() {
            let directory = tempfile::tempdir().unwrap();
            // Each form has a large value once, and so has each compression with many forms: such a table takes long to
            // write.
            let is_large = at == number % compressions.len();
            let path = table(directory.path(), &form, compression, is_large);
            if is_large {
                // One value is large and the other blocks are not.
                let largest = largest_block(&path).unwrap();
                assert!(
                    (3_200_000..3_300_000).contains(&largest),
                    "{name}: {largest}"
                );
            }
            check(&path).unwrap_or_else(|error| panic!("{name}, {compression:?}: {error}"));
            let odd = survey(&path, &mut || Ok(()));
            let odd = odd.unwrap_or_else(|error| panic!("{name}, {compression:?}: {error}"));
            assert_eq!(odd, None, "{name}, {compression:?}");
        }
    }
}

#[test]
fn a_flipped_byte_anywhere_is_found_and_the_file_named() {
    for (version, index) in [
        (5, BlockBasedIndexType::BinarySearch),
        (7, BlockBasedIndexType::TwoLevelIndexSearch),
    ] {
        let mut form = BlockBasedOptions::default();
        form.set_format_version(version);
        form.set_index_type(index);
        form.set_bloom_filter(10.0, false);
        let directory = tempfile::tempdir().unwrap();
        let path = table(directory.path(), &form, DBCompressionType::Lz4, false);
        let whole = std::fs::read(&path).unwrap();
        let footer = whole.len() - FOOTER_BYTES;
        for at in (0..whole.len()).filter(|at| *at > footer || at % 61 == 0) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x04;
            std::fs::write(&path, &flipped).unwrap();
            match check(&path) {
                Ok(()) => {
                    // Handles in a footer of an old version are followed by unused bytes.
                    let handles = footer + 1..footer + 41;
                    let unused = version < 6
                        && handles.contains(&at)
                        && whole[at..handles.end].iter().all(|byte| *byte == 0);
                    assert!(unused, "version {version}, byte {at} of {}", whole.len());
                }
                Err(error) => {
                    let name = path.display().to_string();
                    assert!(error.to_string().contains(&name), "{error}");
                }
            }
        }
        for length in [0, 10, FOOTER_BYTES, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(check(&path).is_err(), "{length} bytes");
        }
    }
}

#[test]
fn a_flipped_byte_in_a_large_block_is_found() {
    for checksum in [ChecksumType::CRC32c, ChecksumType::XXH3] {
        let mut form = BlockBasedOptions::default();
        form.set_checksum_type(checksum);
        let directory = tempfile::tempdir().unwrap();
        let path = table(directory.path(), &form, DBCompressionType::None, true);
        let whole = std::fs::read(&path).unwrap();
        // The large value is the first.
        for at in [5_000, 1_500_000, 3_190_000] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            std::fs::write(&path, &flipped).unwrap();
            assert!(check(&path).is_err(), "byte {at}");
        }
    }
}
