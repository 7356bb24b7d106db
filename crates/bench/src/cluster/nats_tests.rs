use super::*;

#[test]
fn each_server_has_its_ports_and_knows_all_of_them() {
    let always = configuration("n2", 20_000, 1, Path::new("/a b/n2"), Sync::Always);
    for wanted in [
        "listen: \"127.0.0.1:20001\"",
        "listen: \"127.0.0.1:20004\"",
        "[nats://127.0.0.1:20003, nats://127.0.0.1:20004, nats://127.0.0.1:20005]",
        "store_dir: \"/a b/n2\"\nsync_interval: always }",
    ] {
        assert!(always.contains(wanted), "{wanted}\n{always}");
    }
    let default = configuration("n2", 20_000, 1, Path::new("/a"), Sync::Never);
    assert!(!default.contains("sync_interval"), "{default}");
}

#[test]
fn a_bucket_is_ready_when_all_follow_a_leader() {
    let info = |leader: Value, current: &[bool]| {
        let replica = |&current: &bool| json!({ "name": "n", "current": current });
        let replicas: Vec<Value> = current.iter().map(replica).collect();
        json!({ "cluster": { "leader": leader, "replicas": replicas } })
    };
    assert!(follows(&info("n1".into(), &[true, true])));
    assert!(!follows(&info("n1".into(), &[true, false])));
    assert!(!follows(&info("n1".into(), &[true])));
    assert!(!follows(&info(Value::Null, &[true, true])));
    assert!(!follows(&json!({})));
}
