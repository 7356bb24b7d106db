//! The entries of index blocks and of those that describe a table.

/// Bytes behind a block: compression and checksum.
pub(super) const TRAILER_BYTES: u64 = 5;

/// Where a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle {
    pub offset: u64,
    pub size: u64,
}

/// How the values of an index are written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IndexForm {
    /// Only the difference to the block before, where the key shares bytes with the one before.
    pub is_delta_encoded: bool,
    /// Each handle is followed by the block's first key.
    pub has_first_key: bool,
    /// The handles are those of further index blocks.
    pub is_partitioned: bool,
}

/// Takes a number of 7 bits a byte.
pub(super) fn varint(input: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = input.split_first()?;
        *input = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

pub(super) fn take<'a>(input: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(usize::try_from(length).ok()?)?;
    *input = rest;
    Some(taken)
}

/// The entries of a block, without its restart points. `None` for a form that is not known.
fn entries(block: &[u8]) -> Option<&[u8]> {
    let (rest, packed) = block.split_last_chunk::<4>()?;
    let packed = u32::from_le_bytes(*packed);
    // Bit 29 only says how keys are spread; the other high bits change the form.
    if packed & 0xd000_0000 != 0 {
        return None;
    }
    let restarts = (packed & 0x0fff_ffff) as usize;
    rest.get(..rest.len().checked_sub(restarts.checked_mul(4)?)?)
}

/// The keys and values of a block that describes a table.
pub(super) fn pairs(block: &[u8]) -> Option<Vec<(Vec<u8>, &[u8])>> {
    let mut input = entries(block)?;
    let mut key = Vec::new();
    let mut pairs = Vec::new();
    while !input.is_empty() {
        let shared = usize::try_from(varint(&mut input)?).ok()?;
        let unshared = varint(&mut input)?;
        let value = varint(&mut input)?;
        if shared > key.len() {
            return None;
        }
        key.truncate(shared);
        key.extend_from_slice(take(&mut input, unshared)?);
        pairs.push((key.clone(), take(&mut input, value)?));
    }
    Some(pairs)
}

/// The handle in the value of such a pair.
pub(super) fn handle(mut value: &[u8]) -> Option<Handle> {
    Some(Handle {
        offset: varint(&mut value)?,
        size: varint(&mut value)?,
    })
}

/// The handles of an index block, one after the other; the last item is `None` where the block is
/// not an index.
pub(super) struct Handles<'a> {
    input: &'a [u8],
    form: IndexForm,
    before: Option<Handle>,
}

impl<'a> Handles<'a> {
    pub fn of(block: &'a [u8], form: IndexForm) -> Option<Handles<'a>> {
        Some(Handles {
            input: entries(block)?,
            form,
            before: None,
        })
    }

    fn take(&mut self) -> Option<Handle> {
        let input = &mut self.input;
        let shared = varint(input)?;
        let unshared = varint(input)?;
        if !self.form.is_delta_encoded {
            let value = varint(input)?;
            take(input, unshared)?;
            return handle(take(input, value)?);
        }
        take(input, unshared)?;
        let handle = match self.before {
            Some(before) if shared > 0 => {
                let encoded = varint(input)?;
                let change = (encoded >> 1) as i64 ^ -((encoded & 1) as i64);
                Handle {
                    offset: before
                        .offset
                        .checked_add(before.size)?
                        .checked_add(TRAILER_BYTES)?,
                    size: before.size.checked_add_signed(change)?,
                }
            }
            _ => Handle {
                offset: varint(input)?,
                size: varint(input)?,
            },
        };
        if self.form.has_first_key {
            let length = varint(input)?;
            take(input, length)?;
        }
        self.before = Some(handle);
        Some(handle)
    }
}

impl Iterator for Handles<'_> {
    type Item = Option<Handle>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.input.is_empty() {
            return None;
        }
        let handle = self.take();
        if handle.is_none() {
            self.input = &[];
        }
        Some(handle)
    }
}
