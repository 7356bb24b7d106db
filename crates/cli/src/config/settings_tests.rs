#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use dunlin_metadata::Sync;

fn flags() -> Flags {
    Flags {
        name: Some("n1".to_owned()),
        data: Some("d".into()),
        metadata: Some("etcd://h:2379".to_owned()),
        ..Flags::default()
    }
}

fn usage(flags: Flags, file: &str) -> String {
    match Settings::merge(flags, File::parse(file).unwrap()) {
        Err(Failure::Usage(line)) => line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn flags_win_over_the_file_and_the_file_over_defaults() {
    let file = File::parse(
        "name = 'other'\nhttp = 'h:1'\ncache = '1GiB'\nmax_body = 1000\nshards = 2\n\
         [default_keyspace]\nsync = 'never'\nreplicas = 5\ntombstone_grace_s = 60",
    )
    .unwrap();
    let settings = Settings::merge(
        Flags {
            shards: Some(4),
            replicas: Some(1),
            ..flags()
        },
        file,
    )
    .unwrap();
    let (node, defaults) = (&settings.node, NodeConfig::default());
    assert_eq!(
        (node.name.as_str(), node.http.as_str(), node.shards),
        ("n1", "h:1", 4)
    );
    assert_eq!(
        (node.cache_bytes, node.max_body_bytes, node.flush_bytes),
        (1 << 30, 1000, defaults.flush_bytes)
    );
    assert_eq!(
        (node.default_keyspace.sync, node.default_keyspace.replicas),
        (Sync::Never, 1)
    );
    assert_eq!(
        (
            node.default_keyspace.tombstone_grace_s,
            node.default_keyspace.partitions
        ),
        (60, 64)
    );
    assert_eq!(
        settings.metadata,
        MetadataPlace::Etcd("etcd://h:2379".to_owned())
    );
}

#[test]
fn what_is_printed_leads_to_the_same_settings() {
    let settings = Settings::merge(
        Flags {
            cache: Some(Size(12345)),
            ..flags()
        },
        File::default(),
    )
    .unwrap();
    let printed = toml::to_string(&settings.to_file()).unwrap();
    let again = Settings::merge(Flags::default(), File::parse(&printed).unwrap()).unwrap();
    assert_eq!(again.to_file(), settings.to_file());
    assert_eq!(again.node.cache_bytes, 12345);
}

#[test]
fn the_shipped_file_names_every_setting_with_its_default() {
    let shipped = include_str!("../../../../dunlin.toml");
    let file = File::parse(shipped).unwrap();
    let settings = Settings::merge(Flags::default(), file.clone()).unwrap();
    let complete = settings.to_file();
    // Settings without a default are there as comments.
    assert_eq!(file, complete, "dunlin.toml leaves a setting out");
    let defaults = Settings::merge(
        Flags {
            name: settings.node.name.clone().into(),
            data: settings.node.data.clone().into(),
            ..flags()
        },
        File::default(),
    );
    let defaults = File {
        metadata: complete.metadata.clone(),
        ..defaults.unwrap().to_file()
    };
    assert_eq!(
        complete, defaults,
        "dunlin.toml says other values than the defaults"
    );
    for unset in ["advertise_http", "advertise_listen"] {
        assert!(
            shipped.contains(&format!("# {unset} = ")),
            "{unset} is not in dunlin.toml"
        );
    }
}

#[test]
fn what_is_wrong_is_named_in_one_line() {
    assert!(
        usage(
            Flags {
                name: None,
                ..flags()
            },
            ""
        )
        .contains("--name, DUNLIN_NAME")
    );
    assert!(
        usage(
            Flags {
                data: None,
                ..flags()
            },
            ""
        )
        .contains("data is not set")
    );
    assert!(
        usage(
            Flags {
                metadata: None,
                ..flags()
            },
            ""
        )
        .contains("metadata is not set")
    );
    assert!(usage(flags(), "http = 'nowhere'").contains("http \"nowhere\" is not HOST:PORT"));
    assert!(
        usage(
            Flags {
                metadata: Some("zk://h".to_owned()),
                ..flags()
            },
            ""
        )
        .contains("zk://h")
    );
    assert!(usage(flags(), "shards = 0").contains("shards"));
    assert!(usage(flags(), "[default_keyspace]\npartitions = 3").contains("power of two"));
    assert!(
        usage(
            Flags {
                name: Some("a/b".to_owned()),
                ..flags()
            },
            ""
        )
        .contains("a/b")
    );
    for (text, words) in [
        ("shards = 1\ncashe = 5\n", "line 2: unknown key `cashe`"),
        (
            "[default_keyspace]\nsink = 'never'\n",
            "line 2: unknown key `sink`",
        ),
        ("\n\nshards = 'two'", "line 3: "),
        ("cache = '64MB'", "line 1: \"64MB\" is not a size"),
        ("[default_keyspace]\nsync = 'often'", "line 2: "),
        ("name = ", "line 1: "),
    ] {
        let reason = File::parse(text).unwrap_err();
        assert!(
            reason.starts_with(words) && !reason.contains('\n'),
            "{text:?} gave {reason:?}"
        );
    }
}
