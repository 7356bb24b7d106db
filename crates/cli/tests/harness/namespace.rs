//! Hosts of their own on one machine: network namespaces on a bridge.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A bridge and the namespaces on it; dropping it removes them.
pub struct Network {
    bridge: String,
    prefix: String,
    pub hosts: Vec<Host>,
}

/// One namespace with an address.
pub struct Host {
    pub namespace: String,
    pub address: String,
    /// The end of its cable on the bridge.
    cable: String,
}

impl Network {
    /// `count` hosts. `None`, with the reason printed, where namespaces are not allowed.
    pub fn of(count: u8) -> Option<Network> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let id = std::process::id();
        let tag = format!("{:x}{number}", id % 0xf_ffff);
        let mut network = Network {
            bridge: format!("dnlb{tag}"),
            prefix: format!("10.{}.{}", 100 + number % 100, id % 250),
            hosts: Vec::new(),
        };
        match network.build(count, &tag) {
            Ok(()) => Some(network),
            Err(reason) => {
                println!("skipped: network namespaces cannot be made here: {reason}");
                None
            }
        }
    }

    fn build(&mut self, count: u8, tag: &str) -> Result<(), String> {
        let bridge = self.bridge.clone();
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("addr add {}/24 dev {bridge}", self.gateway()))?;
        ip(&format!("link set {bridge} up"))?;
        for number in 1..=count {
            let namespace = format!("dnl{tag}n{number}");
            let (outside, inside) = (format!("dv{tag}o{number}"), format!("dv{tag}i{number}"));
            let address = format!("{}.{}", self.prefix, 10 + number);
            ip(&format!("netns add {namespace}"))?;
            self.hosts.push(Host {
                namespace: namespace.clone(),
                address: address.clone(),
                cable: outside.clone(),
            });
            ip(&format!("link add {outside} type veth peer name {inside}"))?;
            ip(&format!("link set {outside} master {bridge} up"))?;
            ip(&format!("link set {inside} netns {namespace}"))?;
            ip(&format!(
                "-n {namespace} addr add {address}/24 dev {inside}"
            ))?;
            ip(&format!("-n {namespace} link set {inside} up"))?;
            ip(&format!("-n {namespace} link set lo up"))?;
        }
        Ok(())
    }

    /// The test's own address on the bridge.
    pub fn gateway(&self) -> String {
        format!("{}.1", self.prefix)
    }

    /// What `from` sends to `to` is lost without a word. The other way is not touched.
    pub fn cut(&self, from: usize, to: usize) {
        let (namespace, address) = (&self.hosts[from].namespace, &self.hosts[to].address);
        ip(&format!("-n {namespace} route add blackhole {address}/32")).unwrap();
    }

    /// Ends [`Network::cut`].
    pub fn heal(&self, from: usize, to: usize) {
        let (namespace, address) = (&self.hosts[from].namespace, &self.hosts[to].address);
        ip(&format!("-n {namespace} route del blackhole {address}/32")).unwrap();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in &self.hosts {
            // A namespace stays for as long as a dying socket needs it; its cable must not.
            let _ = ip(&format!("link del {}", host.cable));
            let _ = ip(&format!("netns del {}", host.namespace));
        }
        let _ = ip(&format!("link del {}", self.bridge));
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!(
            "ip {arguments}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }
}
