//! Keys of rows as bytes that compare as the keys do, in the order that CouchDB documents: null, false, true,
//! numbers, strings, arrays, objects; strings by the root order of Unicode's collation. `docs/formats.md`, section 16.

use std::cell::RefCell;

use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::hash::hash_of;

const END: u8 = 0;
const NULL: u8 = 0x10;
const FALSE: u8 = 0x20;
const TRUE: u8 = 0x21;
const NUMBER: u8 = 0x30;
const STRING: u8 = 0x40;
const ARRAY: u8 = 0x50;
const OBJECT: u8 = 0x60;
/// Deeper keys are refused.
const DEPTH_MAX: usize = 64;
/// Strings whose order was asked for lately are remembered: as many, and as long.
const CACHED_STRINGS: usize = 1024;
const CACHED_BYTES: usize = 64;

thread_local! {
    static ORDER: RefCell<Order> = RefCell::new(Order::new());
}

/// Bytes that are no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed key of a row")]
pub struct MalformedKey;

/// A key that is JSON, as bytes that compare as keys do.
///
/// # Errors
/// When it is no JSON, or is nested too deeply.
pub fn encode(json: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(json.len() * 2 + 8);
    let mut reader = serde_json::Deserializer::from_str(json);
    Encode::new(&mut out).deserialize(&mut reader)?;
    reader.end()?;
    Ok(out)
}

/// A string, as a key.
#[cfg(test)]
fn encode_string(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_string(&mut out, text);
    out
}

/// The key of these bytes, as JSON.
///
/// # Errors
/// When they are no key.
pub fn decode(mut bytes: &[u8]) -> Result<String, MalformedKey> {
    let mut out = String::with_capacity(bytes.len());
    decode_one(&mut bytes, &mut out, 0)?;
    if bytes.is_empty() {
        Ok(out)
    } else {
        Err(MalformedKey)
    }
}

/// How many of these bytes the first key takes.
///
/// # Errors
/// When they do not begin with a key.
pub fn length(bytes: &[u8]) -> Result<usize, MalformedKey> {
    let mut rest = bytes;
    skip(&mut rest)?;
    Ok(bytes.len() - rest.len())
}

/// The key that rows are grouped by: of an array no more than its first `level` elements.
///
/// # Errors
/// When these bytes are no key.
pub fn group(key: &[u8], level: usize) -> Result<Vec<u8>, MalformedKey> {
    if key.first() != Some(&ARRAY) {
        return Ok(key.to_vec());
    }
    let mut rest = &key[1..];
    for _ in 0..level {
        if rest.first() == Some(&END) {
            break;
        }
        skip(&mut rest)?;
    }
    let taken = key.len() - rest.len();
    let mut group = key[..taken].to_vec();
    group.push(END);
    Ok(group)
}

/// Writes one JSON value as a key, without making a tree of it.
pub(crate) struct Encode<'o> {
    out: &'o mut Vec<u8>,
    depth: usize,
}

impl<'o> Encode<'o> {
    pub fn new(out: &'o mut Vec<u8>) -> Encode<'o> {
        Encode { out, depth: 0 }
    }

    fn deeper<E: de::Error>(&mut self) -> Result<Encode<'_>, E> {
        if self.depth < DEPTH_MAX {
            Ok(Encode {
                out: self.out,
                depth: self.depth + 1,
            })
        } else {
            Err(E::custom(format!(
                "a key is nested at most {DEPTH_MAX} deep"
            )))
        }
    }
}

impl<'de> DeserializeSeed<'de> for Encode<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Encode<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.out.push(NULL);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.out.push(if value { TRUE } else { FALSE });
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        put_number(self.out, value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        put_number(self.out, value as f64);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        put_number(self.out, value as f64);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        put_string(self.out, text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut values: A) -> Result<(), A::Error> {
        self.out.push(ARRAY);
        while values.next_element_seed(self.deeper()?)?.is_some() {}
        self.out.push(END);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut values: A) -> Result<(), A::Error> {
        self.out.push(OBJECT);
        while values.next_key_seed(self.deeper()?)?.is_some() {
            values.next_value_seed(self.deeper()?)?;
        }
        self.out.push(END);
        Ok(())
    }
}

fn put_number(out: &mut Vec<u8>, value: f64) {
    // Both zeros are one.
    let bits = (value + 0.0).to_bits();
    let ordered = match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    };
    out.push(NUMBER);
    out.extend_from_slice(&ordered.to_be_bytes());
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    out.push(STRING);
    ORDER.with_borrow_mut(|order| order.put(out, text));
    out.push(END);
    // Texts that the order takes for the same are kept apart, and the text is read back from here.
    for byte in text.bytes() {
        match byte {
            0 => out.extend_from_slice(&[1, 1]),
            1 => out.extend_from_slice(&[1, 2]),
            byte => out.push(byte),
        }
    }
    out.push(END);
}

/// A string, and the bytes that it is ordered by.
type Cached = (Box<str>, Box<[u8]>);

/// The order of strings, on one thread.
struct Order {
    collator: Option<CollatorBorrowed<'static>>,
    cached: Vec<Option<Cached>>,
}

impl Order {
    fn new() -> Order {
        let root = Collator::try_new(Default::default(), CollatorOptions::default());
        Order {
            // Its data is part of the program.
            collator: root.ok(),
            cached: vec![None; CACHED_STRINGS],
        }
    }

    fn put(&mut self, out: &mut Vec<u8>, text: &str) {
        let Some(collator) = &self.collator else {
            return;
        };
        if text.len() > CACHED_BYTES {
            let Ok(()) = collator.write_sort_key_to(text, out);
            return;
        }
        let place = hash_of(&[text.as_bytes()]);
        let slot = &mut self.cached[(place % CACHED_STRINGS as u64) as usize];
        if let Some((known, bytes)) = slot
            && **known == *text
        {
            out.extend_from_slice(bytes);
            return;
        }
        let begin = out.len();
        let Ok(()) = collator.write_sort_key_to(text, out);
        *slot = Some((text.into(), out[begin..].into()));
    }
}

fn take(bytes: &mut &[u8]) -> Result<u8, MalformedKey> {
    let (first, rest) = bytes.split_first().ok_or(MalformedKey)?;
    *bytes = rest;
    Ok(*first)
}

/// What stands before the next end, which is taken too.
fn take_to_end<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], MalformedKey> {
    let end = bytes.iter().position(|byte| *byte == END);
    let (taken, rest) = bytes.split_at(end.ok_or(MalformedKey)?);
    *bytes = &rest[1..];
    Ok(taken)
}

fn skip(bytes: &mut &[u8]) -> Result<(), MalformedKey> {
    let mut depth = 0_usize;
    loop {
        match take(bytes)? {
            NULL | FALSE | TRUE => {}
            NUMBER => *bytes = bytes.get(8..).ok_or(MalformedKey)?,
            STRING => {
                take_to_end(bytes)?;
                take_to_end(bytes)?;
            }
            ARRAY | OBJECT => depth += 1,
            END if depth > 0 => depth -= 1,
            _ => return Err(MalformedKey),
        }
        if depth == 0 {
            return Ok(());
        }
    }
}

fn decode_one(bytes: &mut &[u8], out: &mut String, depth: usize) -> Result<(), MalformedKey> {
    if depth > DEPTH_MAX {
        return Err(MalformedKey);
    }
    match take(bytes)? {
        NULL => out.push_str("null"),
        FALSE => out.push_str("false"),
        TRUE => out.push_str("true"),
        NUMBER => {
            let (word, rest) = bytes.split_first_chunk::<8>().ok_or(MalformedKey)?;
            *bytes = rest;
            let ordered = u64::from_be_bytes(*word);
            let bits = match ordered >> 63 {
                1 => ordered & !(1 << 63),
                _ => !ordered,
            };
            out.push_str(&number(f64::from_bits(bits)));
        }
        STRING => {
            take_to_end(bytes)?;
            decode_string(take_to_end(bytes)?, out)?;
        }
        open @ (ARRAY | OBJECT) => {
            out.push(if open == ARRAY { '[' } else { '{' });
            let mut count = 0_usize;
            while bytes.first() != Some(&END) {
                if count > 0 {
                    let is_value = open == OBJECT && count % 2 == 1;
                    out.push(if is_value { ':' } else { ',' });
                }
                decode_one(bytes, out, depth + 1)?;
                count += 1;
            }
            take(bytes)?;
            out.push(if open == ARRAY { ']' } else { '}' });
        }
        _ => return Err(MalformedKey),
    }
    Ok(())
}

fn decode_string(bytes: &[u8], out: &mut String) -> Result<(), MalformedKey> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut bytes = bytes.iter();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            1 => bytes.next().ok_or(MalformedKey)? - 1,
            byte => *byte,
        });
    }
    let text = String::from_utf8(text).map_err(|_| MalformedKey)?;
    out.push_str(&serde_json::to_string(&text).map_err(|_| MalformedKey)?);
    Ok(())
}

/// A number as JSON: a whole one without a fraction.
pub(crate) fn number(value: f64) -> String {
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= WHOLE_MAX {
        return (value as i64).to_string();
    }
    // None but finite ones come out of JSON.
    serde_json::to_string(&value).unwrap_or_default()
}

#[cfg(test)]
#[path = "collate_tests.rs"]
mod tests;
