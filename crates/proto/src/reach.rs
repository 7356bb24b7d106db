//! Who reaches whom.

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_message::DecodeError;

use crate::wire::get_u8;

/// How the answerer stands to the asker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// It has a connection to it.
    pub reaches: bool,
    /// It has sent it all that it wrote before that connection came up.
    pub is_current: bool,
    /// It is past the moment after its start in which it answers no reads because others may know
    /// better, and stamps no writes because it has not compared its clock.
    pub has_heard: bool,
}

impl Reached {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u8(self.reaches.into());
        out.put_u8(self.is_current.into());
        out.put_u8(self.has_heard.into());
    }

    pub(crate) fn decode(from: &mut Bytes) -> Result<Reached, DecodeError> {
        Ok(Reached {
            reaches: get_u8(from)? != 0,
            is_current: get_u8(from)? != 0,
            // A build that does not say is taken at its word for the rest.
            has_heard: from.is_empty() || get_u8(from)? != 0,
        })
    }
}
