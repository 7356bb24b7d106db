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
    /// The same of an error that others have wrapped.
    pub fn within(error: &(dyn std::error::Error + 'static)) -> Option<Trouble> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(trouble) = error.downcast_ref::<io::Error>().and_then(Trouble::of) {
                return Some(trouble);
            }
            if let Some(error) = error.downcast_ref::<Error>() {
                return Some(Trouble::of_tls(error));
            }
            cause = error.source();
        }
        None
    }

    /// One line for people. `ca` and `identity` are what the settings are called that name the CA to
    /// believe and the certificate to show.
    pub fn say(&self, ca: &str, identity: &str) -> String {
        match self {
            Trouble::UnknownIssuer => format!(
                "no CA that is believed here signed its certificate: name the file of its CA ({ca})"
            ),
            Trouble::WrongName { names } => {
                let names = if names.is_empty() {
                    "other names".to_owned()
                } else {
                    names.join(", ")
                };
                format!(
                    "its certificate is for {names}: reach it by one of these names, or make it one for this name"
                )
            }
            Trouble::Expired => {
                "its certificate has expired: renew it there, unless this machine's clock is wrong"
                    .to_owned()
            }
            Trouble::NotYet => {
                "its certificate is not good yet: wait, unless this machine's clock is wrong"
                    .to_owned()
            }
            Trouble::IsCa => {
                "its certificate is that of a CA, which no server may show as its own: \
                              make it one with basicConstraints CA:FALSE"
                    .to_owned()
            }
            Trouble::WantsIdentity => format!(
                "it ends the handshake, as it does where clients must show a certificate: name one ({identity})"
            ),
            Trouble::RefusesIdentity => format!(
                "it refuses the certificate that it was shown ({identity}): show one of a CA that it believes, and that is good today"
            ),
            Trouble::NotTls => "it does not speak TLS: use http:// for it".to_owned(),
            Trouble::Other(line) => format!("TLS: {line}"),
        }
    }

    /// What an error of a stream says, where TLS is what is wrong; `None` where the network is.
    pub fn of(error: &io::Error) -> Option<Trouble> {
        Some(Trouble::of_tls(error.get_ref()?.downcast_ref::<Error>()?))
    }

    fn of_tls(error: &Error) -> Trouble {
        match error {
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
        }
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
