//! What the program was compiled for, looked for before anything runs that needs it.

/// The first of the instructions that this processor lacks and the program is full of: RocksDB is
/// compiled for them (`scripts/rocksdb.sh`), and would end the process without a word.
pub fn lacks() -> Option<&'static str> {
    first_missing(&needed())
}

fn first_missing(needed: &[(&'static str, bool)]) -> Option<&'static str> {
    needed.iter().find(|(_, has)| !has).map(|(name, _)| *name)
}

#[cfg(target_arch = "x86_64")]
fn needed() -> [(&'static str, bool); 5] {
    [
        ("SSSE3", std::arch::is_x86_feature_detected!("ssse3")),
        ("SSE4.1", std::arch::is_x86_feature_detected!("sse4.1")),
        ("SSE4.2", std::arch::is_x86_feature_detected!("sse4.2")),
        ("POPCNT", std::arch::is_x86_feature_detected!("popcnt")),
        (
            "PCLMULQDQ",
            std::arch::is_x86_feature_detected!("pclmulqdq"),
        ),
    ]
}

#[cfg(target_arch = "aarch64")]
fn needed() -> [(&'static str, bool); 3] {
    [
        ("CRC32", std::arch::is_aarch64_feature_detected!("crc")),
        ("AES", std::arch::is_aarch64_feature_detected!("aes")),
        ("SHA2", std::arch::is_aarch64_feature_detected!("sha2")),
    ]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn needed() -> [(&'static str, bool); 0] {
    []
}

#[cfg(test)]
#[path = "processor_tests.rs"]
mod tests;
