//! Physical to logical records.

use super::{
    code::{Code, Part},
    event::{Damage, Reason, Record},
};

/// A record whose last piece has not come yet, and the bytes of the last whole one.
pub(super) struct Gather {
    limit: usize,
    /// Bytes of a record in several pieces, as far as they are kept.
    pub bytes: Vec<u8>,
    begun: Option<Record>,
}

impl Gather {
    pub(super) fn new(limit: usize) -> Gather {
        Gather {
            limit,
            bytes: Vec::new(),
            begun: None,
        }
    }

    /// Gives up the record that was begun: its end did not come.
    pub(super) fn give_up(&mut self) -> Option<Damage> {
        let begun = self.begun.take()?;
        Some(Damage {
            offset: begun.offset,
            skipped_bytes: 0,
            lost_bytes: begun.payload_bytes,
            records_skipped: false,
            reason: Reason::NoEnd,
        })
    }

    /// Whether the end of a record is still to come.
    pub(super) fn is_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Whether a record is begun that a piece of this type goes on with.
    fn goes_on(&self, code: Code) -> bool {
        self.begun
            .is_some_and(|begun| begun.code.family() == code.family())
    }

    /// Takes a piece that ends at `end`. What it makes impossible comes first, then the record it
    /// completes.
    pub(super) fn take(
        &mut self,
        part: Part,
        piece: Record,
        payload: &[u8],
    ) -> (Option<Damage>, Option<Record>) {
        match part {
            Part::Full => (self.give_up(), Some(piece)),
            Part::First => {
                let lost = self.give_up();
                self.bytes.clear();
                // One huge record does not hold its memory for the rest of the file.
                self.bytes.shrink_to(1 << 20);
                self.begun = Some(piece);
                self.keep(payload);
                (lost, None)
            }
            Part::Middle | Part::Last if !self.goes_on(piece.code) => {
                let orphan = Damage {
                    offset: piece.offset,
                    skipped_bytes: 0,
                    lost_bytes: piece.payload_bytes,
                    records_skipped: false,
                    reason: Reason::NoBeginning,
                };
                (Some(orphan), None)
            }
            Part::Middle | Part::Last => {
                if let Some(begun) = &mut self.begun {
                    begun.end = piece.end;
                    begun.payload_bytes += piece.payload_bytes;
                    begun.header_bytes += piece.header_bytes;
                    begun.fragments += 1;
                }
                self.keep(payload);
                let whole = match part {
                    Part::Last => self.begun.take(),
                    _ => None,
                };
                (None, whole)
            }
        }
    }

    fn keep(&mut self, payload: &[u8]) {
        let room = self.limit.saturating_sub(self.bytes.len());
        let kept = payload.len().min(room);
        self.bytes.extend_from_slice(&payload[..kept]);
        if kept < payload.len()
            && let Some(begun) = &mut self.begun
        {
            begun.cut = true;
        }
    }
}
