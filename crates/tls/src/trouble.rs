//! Why a connection did not come about, by what can be done about it.

use std::io;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// What stood in the way of a connection, as the side that connects sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// No CA that is believed here signed the server's certificate: name the CA.
    UnknownIssuer,
    /// The certificate is for other names: use one of them, or make a certificate for this one.
    WrongName {
        /// The names that it is for.
        names: Vec<String>,
    },
    /// Renew the server's certificate.
    Expired,
    /// The server's certificate begins later, or a clock is wrong.
    NotYet,
    /// The server shows the certificate of a CA as its own.
    IsCa,
    /// The server asks for a certificate, and got none: name one.
    WantsIdentity,
    /// The server does not take the certificate that it got.
    RefusesIdentity,
    /// The server does not speak TLS.
    NotTls,
    /// Something else.
    Other(String),
}

impl Trouble {
    /// What an error of a stream says, where TLS is what is wrong; `None` where the network is.
    pub fn of(error: &io::Error) -> Option<Trouble> {
        let error = error.get_ref()?.downcast_ref::<Error>()?;
        Some(match error {
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::AlertReceived(AlertDescription::CertificateRequired) => Trouble::WantsIdentity,
            // Before TLS 1.3 there was no word for a certificate that is missing.
            Error::AlertReceived(AlertDescription::HandshakeFailure) => Trouble::WantsIdentity,
            Error::AlertReceived(
                AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::DecryptError
                | AlertDescription::AccessDenied,
            ) => Trouble::RefusesIdentity,
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            ) => Trouble::NotTls,
            other => Trouble::Other(other.to_string()),
        })
    }
}

fn of_certificate(error: &CertificateError) -> Trouble {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => Trouble::UnknownIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => Trouble::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            Trouble::NotYet
        }
        CertificateError::NotValidForName => Trouble::WrongName { names: Vec::new() },
        CertificateError::NotValidForNameContext { presented, .. } => Trouble::WrongName {
            names: presented.iter().map(|name| plain(name)).collect(),
        },
        // The library wraps what it has no word for; the text is all there is to know it by.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => Trouble::IsCa,
        other => Trouble::Other(Error::InvalidCertificate(other.clone()).to_string()),
    }
}

/// `DnsName("example.net")` is `example.net`.
fn plain(name: &str) -> String {
    match name.split_once('(') {
        Some((_, rest)) => rest.trim_end_matches(')').trim_matches('"').to_owned(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
