#![allow(clippy::unwrap_used)]
use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::*;
use crate::authority_tests::Authority;

#[test]
fn the_dates_of_certificates_are_found() {
    let authority = Authority::new();
    let der = |from, until| {
        let (pem, _) = authority.sign(&["a.example"], from, until);
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    };
    let of = |chain: &[CertificateDer<'_>]| {
        let found = Validity::of(chain).unwrap();
        (date(found.from_s), found.until())
    };
    let day = |year: i32| format!("{year}-01-01 00:00:00 UTC");
    assert_eq!(of(&[der(2021, 2031)]), (day(2021), day(2031)));
    // Past and future ones as well, and a chain is as good as its worst.
    assert_eq!(of(&[der(1999, 2001)]), (day(1999), day(2001)));
    assert_eq!(of(&[der(2060, 2070)]), (day(2060), day(2070)));
    assert_eq!(
        of(&[der(2020, 2031), der(2022, 2025)]),
        (day(2022), day(2025))
    );
    let garbled = CertificateDer::from(vec![1, 2, 3]);
    assert!(Validity::of(&[garbled]).is_err());
}

#[test]
fn what_is_said_of_a_certificate() {
    let validity = Validity {
        from_s: 1_000_000,
        until_s: 1_000_000 + 30 * DAY_S,
    };
    let said = |now_s| validity.warning(Path::new("/c.pem"), now_s);
    let end = validity.until_s;
    for (now_s, words) in [
        (0, Some("is good only from 1970-01-12 13:46:40 UTC")),
        (1_000_000, None),
        (end - SOON_S, None),
        (end - SOON_S + 1, Some("expires on 1970-02-11 13:46:40 UTC")),
        (end, Some("expires on")),
        (end + 1, Some("expired on 1970-02-11 13:46:40 UTC")),
    ] {
        match (said(now_s), words) {
            (None, None) => {}
            (Some(line), Some(words)) => {
                assert!(line.contains(words) && line.contains("/c.pem"), "{line}");
                assert!(!line.contains('\n'), "{line}");
            }
            (said, words) => panic!("at {now_s}: {said:?}, not {words:?}"),
        }
    }
}

#[test]
fn dates_are_those_of_the_calendar() {
    for (s, text) in [
        (0, "1970-01-01 00:00:00 UTC"),
        (951_782_399, "2000-02-28 23:59:59 UTC"),
        (951_782_400, "2000-02-29 00:00:00 UTC"),
        (1_709_251_199, "2024-02-29 23:59:59 UTC"),
        (1_709_251_200, "2024-03-01 00:00:00 UTC"),
        (4_102_444_800, "2100-01-01 00:00:00 UTC"),
        (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        (u64::MAX, "9999-12-31 23:59:59 UTC"),
    ] {
        assert_eq!(date(s), text);
    }
}
