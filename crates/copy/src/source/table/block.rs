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

fn take<'a>(input: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(usize::try_from(length).ok()?)?;
    *input = rest;
    Some(taken)
}

/// The high bits of a block's last number: of a hash of its keys, and of any other form. Bit 29 only
/// says how keys are spread.
const IS_HASHED: u32 = 0x8000_0000;
const IS_OTHER: u32 = 0x5000_0000;

/// The entries of a block, without its restart points and what else is behind them. `None` for a form
/// that is not known. Only blocks of data may have hashes.
fn entries(block: &[u8], may_be_hashed: bool) -> Option<&[u8]> {
    let (mut rest, packed) = block.split_last_chunk::<4>()?;
    let packed = u32::from_le_bytes(*packed);
    let is_hashed = packed & IS_HASHED != 0;
    if packed & IS_OTHER != 0 || (is_hashed && !may_be_hashed) {
        return None;
    }
    if is_hashed {
        let (before, buckets) = rest.split_last_chunk::<2>()?;
        let buckets = usize::from(u16::from_le_bytes(*buckets));
        rest = before.get(..before.len().checked_sub(buckets)?)?;
    }
    let restarts = (packed & 0x0fff_ffff) as usize;
    rest.get(..rest.len().checked_sub(restarts.checked_mul(4)?)?)
}

/// The keys and values of a block, one after the other.
pub(super) struct Pairs<'a> {
    input: &'a [u8],
    key: Vec<u8>,
}

impl<'a> Pairs<'a> {
    /// Of a block that describes a table.
    pub fn of(block: &'a [u8]) -> Option<Pairs<'a>> {
        Pairs::in_form(block, false)
    }

    /// Of a block of data, whose keys end with the kind and the number of their record.
    pub fn of_data(block: &'a [u8]) -> Option<Pairs<'a>> {
        Pairs::in_form(block, true)
    }

    fn in_form(block: &'a [u8], may_be_hashed: bool) -> Option<Pairs<'a>> {
        Some(Pairs {
            input: entries(block, may_be_hashed)?,
            key: Vec::new(),
        })
    }

    pub fn is_at_end(&self) -> bool {
        self.input.is_empty()
    }

    /// The next one. `None` where the block is none of pairs.
    pub fn take(&mut self) -> Option<(&[u8], &'a [u8])> {
        let input = &mut self.input;
        let shared = usize::try_from(varint(input)?).ok()?;
        let unshared = varint(input)?;
        let value = varint(input)?;
        if shared > self.key.len() {
            return None;
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(take(input, unshared)?);
        let value = take(input, value)?;
        Some((&self.key, value))
    }
}

/// The keys and values of a block that describes a table.
pub(super) fn pairs(block: &[u8]) -> Option<Vec<(Vec<u8>, &[u8])>> {
    let mut each = Pairs::of(block)?;
    let mut pairs = Vec::new();
    while !each.is_at_end() {
        let (key, value) = each.take()?;
        pairs.push((key.to_vec(), value));
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
            input: entries(block, false)?,
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
