//! A range read as pairs, in constant memory, as `docs/formats.md` section 9 says.

use bytes::{Buf, Bytes, BytesMut};
use dunlin_proto::pairs::{self, CHECKSUM_BYTES, EXPIRY_BYTES, HEAD_BYTES, Head, Pair};
use hyper::header::CONTENT_TYPE;

use crate::answer::Streamed;
use crate::call::{Call, Servers};
use crate::error::ClientError;

/// A claimed length is believed, and room made for all of it, once this much has come.
const BELIEVED_BYTES: usize = 64 << 10;

/// A running scan of keys and values, without their versions; dropping it ends it.
pub struct PairScan {
    answer: Streamed,
    /// What has come and was not looked at.
    rest: Bytes,
    checksum: u32,
    /// Lengths and end of the pair that comes next, when they were read.
    coming: Option<(Head, Option<u64>)>,
    is_at_end: bool,
}

impl PairScan {
    pub(crate) async fn open(servers: &Servers, call: &Call) -> Result<PairScan, ClientError> {
        let answer = Streamed::open(servers, call).await?;
        let given = answer.header(&CONTENT_TYPE);
        if given != Some(pairs::CONTENT_TYPE) {
            let given = given.unwrap_or("something without a type");
            return Err(answer.protocol(format!("{given} instead of pairs")));
        }
        Ok(PairScan {
            answer,
            rest: Bytes::new(),
            checksum: 0,
            coming: None,
            is_at_end: false,
        })
    }

    /// Bytes of key and value of the next pair, before they are read, for who wants to make room
    /// for a large one; `None` after the last pair. Fails as [`PairScan::next`] does.
    pub async fn peek(&mut self) -> Result<Option<usize>, ClientError> {
        if self.coming.is_none() && !self.is_at_end {
            match self.take(HEAD_BYTES).await? {
                Ok(bytes) => {
                    self.checksum = crc32c::crc32c_append(self.checksum, &bytes);
                    if let Some(head) = Head::read(&bytes) {
                        self.coming = Some((head, self.expiry(head).await?));
                    }
                }
                Err(left) => {
                    self.check(&left)?;
                    self.is_at_end = true;
                }
            }
        }
        let coming = self.coming.map(|(head, _)| head);
        Ok(coming.map(|head| head.key_bytes.saturating_add(head.value_bytes)))
    }

    /// The time behind a head, if one is there.
    async fn expiry(&mut self, head: Head) -> Result<Option<u64>, ClientError> {
        if !head.is_expiring {
            return Ok(None);
        }
        let taken = self.take(EXPIRY_BYTES).await?;
        let mut bytes = taken.map_err(|_| self.broken())?;
        self.checksum = crc32c::crc32c_append(self.checksum, &bytes);
        Ok(Some(bytes.get_u64_le()))
    }

    /// The next key and value in key order, or `None` after the last. A scan that breaks off is
    /// an error, never an early end; begin again after the last key received.
    pub async fn next(&mut self) -> Result<Option<Pair>, ClientError> {
        self.peek().await?;
        let Some((head, expires_ms)) = self.coming else {
            return Ok(None);
        };
        let bytes = head.key_bytes.saturating_add(head.value_bytes);
        let taken = self.take(bytes).await?;
        let mut value = taken.map_err(|_| self.broken())?;
        self.coming = None;
        self.checksum = crc32c::crc32c_append(self.checksum, &value);
        let key = value.split_to(head.key_bytes);
        Ok(Some(Pair {
            key,
            value,
            expires_ms,
        }))
    }

    /// The next `bytes`, or what is left when the body has ended before. What came in one piece is
    /// not copied; else the memory is exactly as large, so that whoever drops a large value is rid
    /// of it.
    async fn take(&mut self, bytes: usize) -> Result<Result<Bytes, Bytes>, ClientError> {
        if self.rest.len() >= bytes {
            return Ok(Ok(self.rest.split_to(bytes)));
        }
        let mut taken = BytesMut::with_capacity(bytes.min(BELIEVED_BYTES));
        loop {
            let part = self.rest.len().min(bytes - taken.len());
            if taken.capacity() < bytes && taken.len() + part > BELIEVED_BYTES {
                taken.reserve(bytes - taken.len());
            }
            taken.extend_from_slice(&self.rest.split_to(part));
            if taken.len() == bytes {
                return Ok(Ok(taken.freeze()));
            }
            match self.answer.data().await? {
                Some(data) => self.rest = data,
                None => return Ok(Err(taken.freeze())),
            }
        }
    }

    /// Whether what is left is the checksum of all that came.
    fn check(&self, left: &[u8]) -> Result<(), ClientError> {
        if left.len() != CHECKSUM_BYTES {
            return Err(self.broken());
        }
        if *left == self.checksum.to_le_bytes() {
            Ok(())
        } else {
            Err(self
                .answer
                .protocol("the pairs do not have the checksum that the body ends with".to_owned()))
        }
    }

    fn broken(&self) -> ClientError {
        ClientError::Interrupted {
            server: self.answer.server().to_owned(),
            reason: "the pairs end before their checksum".to_owned(),
        }
    }
}
