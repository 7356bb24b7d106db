//! Until when a certificate is good.

use std::path::Path;

use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error, RootCertStore};

use crate::provider::provider;

/// From so long before its end on, a certificate is warned of.
const SOON_S: u64 = 7 * DAY_S;
const DAY_S: u64 = 86_400;

/// When a certificate is good, in seconds since 1970, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// Not before.
    pub from_s: u64,
    /// Not after.
    pub until_s: u64,
}

impl Validity {
    /// Of the first certificate of a chain, or of one of its issuers that ends earlier. The verifier
    /// is asked at the beginning and at the end of time, and says what is wrong with either: its
    /// look at the dates comes before that for an issuer.
    pub(crate) fn of(chain: &[CertificateDer<'_>]) -> Result<Validity, String> {
        let mut whole = Validity {
            from_s: 0,
            until_s: u64::MAX,
        };
        for certificate in chain {
            let from_s = match ask(certificate, 0)? {
                Error::InvalidCertificate(CertificateError::NotValidYetContext {
                    not_before,
                    ..
                }) => not_before.as_secs(),
                _ => 0,
            };
            let until_s = match ask(certificate, u64::MAX)? {
                Error::InvalidCertificate(CertificateError::ExpiredContext {
                    not_after, ..
                }) => not_after.as_secs(),
                _ => u64::MAX,
            };
            whole.from_s = whole.from_s.max(from_s);
            whole.until_s = whole.until_s.min(until_s);
        }
        Ok(whole)
    }

    /// What an operator should know of it, if anything.
    pub(crate) fn warning(self, path: &Path, now_s: u64) -> Option<String> {
        let path = path.display();
        if now_s > self.until_s {
            return Some(format!(
                "the certificate in {path} expired on {}: clients refuse it, renew it",
                self.until()
            ));
        }
        if now_s < self.from_s {
            return Some(format!(
                "the certificate in {path} is good only from {}: check the clock, or wait",
                date(self.from_s)
            ));
        }
        (self.until_s - now_s < SOON_S).then(|| {
            format!(
                "the certificate in {path} expires on {}: renew it",
                self.until()
            )
        })
    }

    /// Its end, for people.
    pub fn until(self) -> String {
        date(self.until_s)
    }
}

fn ask(certificate: &CertificateDer<'_>, now_s: u64) -> Result<Error, String> {
    let parsed = ParsedCertificate::try_from(certificate).map_err(|error| error.to_string())?;
    let roots = RootCertStore::empty();
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now_s));
    let algorithms = provider().signature_verification_algorithms.all;
    match verify_server_cert_signed_by_trust_anchor(&parsed, &roots, &[], now, algorithms) {
        Err(Error::InvalidCertificate(CertificateError::BadEncoding)) => {
            Err("its certificate cannot be read".to_owned())
        }
        Err(error) => Ok(error),
        // Without roots nothing is believed.
        Ok(()) => Err("it was believed without an issuer".to_owned()),
    }
}

/// `2026-05-04 10:20:30 UTC`. Years beyond 9999 are as good as for ever.
fn date(s: u64) -> String {
    let s = s.min(253_402_300_799);
    let (days, rest) = (s / DAY_S, s % DAY_S);
    // Days since 0000-03-01, in eras of 400 years: Howard Hinnant's civil_from_days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
#[path = "validity_tests.rs"]
mod tests;
