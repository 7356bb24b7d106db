//! Where etcd is, and who asks it.
use super::access::EtcdPlace;
use crate::error::MetadataError;

/// What begins an address in the clear, and one with TLS.
const PLAIN: &str = "etcd://";
const TLS: &str = "etcds://";

/// The members of an etcd cluster, from `etcd://host:port[,host:port...]`, or `etcds://`.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    place: EtcdPlace,
    members: Vec<String>,
}

impl Address {
    pub fn parse(place: EtcdPlace) -> Result<Self, MetadataError> {
        let text = &place.endpoints;
        let shown = place.shown();
        let invalid = |rule: &str| {
            MetadataError::invalid(format!("metadata address {shown:?}"), rule.to_owned())
        };
        let usual = "must be etcd://HOST:PORT[,HOST:PORT...], or etcds:// for TLS";
        let (scheme, list) = match (text.strip_prefix(TLS), text.strip_prefix(PLAIN)) {
            (Some(list), _) => ("https://", list),
            (None, Some(list)) => ("http://", list),
            (None, None) => return Err(invalid(usual)),
        };
        if list.contains('@') {
            return Err(invalid(
                "must not hold a user or password: --etcd-user and --etcd-password-file are for these",
            ));
        }
        if scheme == "http://" && place.has_tls_files() {
            return Err(invalid(
                "is not encrypted, so the TLS settings for etcd would not count: write etcds://",
            ));
        }
        let list = list.strip_suffix('/').unwrap_or(list);
        if !list.split(',').all(is_member) {
            return Err(invalid(usual));
        }
        let members = list.split(',').map(|member| format!("{scheme}{member}"));
        Ok(Self {
            members: members.collect(),
            place,
        })
    }

    /// The URL of each member.
    pub fn members(&self) -> &[String] {
        &self.members
    }

    pub fn is_tls(&self) -> bool {
        self.place.endpoints.starts_with(TLS)
    }

    /// With what it is asked.
    pub fn place(&self) -> &EtcdPlace {
        &self.place
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place.endpoints)
    }
}

fn is_member(member: &str) -> bool {
    let Some((host, port)) = member.rsplit_once(':') else {
        return false;
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    !host.is_empty() && host.bytes().all(allowed) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
