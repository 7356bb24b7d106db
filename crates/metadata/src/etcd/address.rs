//! Where etcd is.
use crate::error::MetadataError;

/// The members of an etcd cluster, from `etcd://host:port[,host:port...]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    text: String,
    members: Vec<String>,
}

impl Address {
    pub fn parse(text: &str) -> Result<Self, MetadataError> {
        let invalid = || {
            let rule = "must be etcd://HOST:PORT[,HOST:PORT...]";
            MetadataError::invalid(format!("metadata address {text:?}"), rule)
        };
        let list = text.strip_prefix("etcd://").ok_or_else(invalid)?;
        let list = list.strip_suffix('/').unwrap_or(list);
        let members: Vec<_> = list.split(',').map(str::to_owned).collect();
        if members.iter().all(|member| is_member(member)) {
            return Ok(Self {
                text: text.to_owned(),
                members,
            });
        }
        Err(invalid())
    }

    /// `host:port` of each member.
    pub fn members(&self) -> &[String] {
        &self.members
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
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
