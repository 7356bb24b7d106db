#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use dunlin_log::{Compression, Padding};
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
         move_latency = '5ms'\ndrop_delay = '90s'\nclock_bound = '20s'\n[default_keyspace]\nsync = 'never'\nreplicas = 5\ntombstone_grace_s = 60",
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
        (node.name.as_str(), node.http.as_str(), settings.shards),
        ("n1", "h:1", Some(4))
    );
    assert_eq!(
        (node.cache_bytes, node.max_body_bytes, node.flush_bytes),
        (1 << 30, 1000, defaults.flush_bytes)
    );
    assert_eq!(node.move_latency_us_p99, 5_000);
    assert_eq!(node.clock_bound_ms, 20_000);
    assert_eq!(defaults.clock_bound_ms, 10_000);
    for short in ["4s", "5000s"] {
        let line = usage(flags(), &format!("clock_bound = '{short}'"));
        assert_eq!(line, "clock_bound must be from 5s to 3600s");
    }
    assert_eq!(
        (node.drop_delay_ms, defaults.drop_delay_ms),
        (90_000, 3_600_000)
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
        MetadataPlace::Etcd("etcd://h:2379".into())
    );
}

#[test]
fn what_depends_on_the_machine_is_settled_at_the_start() {
    let machine = Machine {
        descriptors: 1 << 20,
        memory_bytes: 4 << 30,
        processors: 3,
    };
    let shared_out = |flags, file| {
        let mut settings = Settings::merge(flags, File::parse(file).unwrap()).unwrap();
        let room = settings.share_out(machine, None).unwrap();
        // What is printed is what there is.
        let printed = settings.to_file();
        assert_eq!(
            printed.max_connections,
            Some(room.bounds.connections as u32)
        );
        assert_eq!(
            printed.request_memory,
            Some(Size(room.bounds.memory_bytes as u64))
        );
        (room.bounds.connections, room.bounds.memory_bytes)
    };
    assert_eq!(shared_out(flags(), ""), (10_000, 1 << 30));
    let file = "max_connections = 20\nrequest_memory = '100MiB'";
    assert_eq!(shared_out(flags(), file), (20, 100 << 20));
    let flags = Flags {
        max_connections: Some(30),
        request_memory: Some(Size(200 << 20)),
        ..flags()
    };
    assert_eq!(shared_out(flags, file), (30, 200 << 20));
    let too_large = "max_body = '65MiB'";
    let mut settings = Settings::merge(self::flags(), File::parse(too_large).unwrap()).unwrap();
    assert!(matches!(
        settings.share_out(machine, None),
        Err(Failure::Usage(_))
    ));
}

#[test]
fn shards_are_as_asked_for_else_as_the_data_were_made_else_for_the_machine() {
    let machine = Machine {
        descriptors: 1 << 20,
        memory_bytes: 4 << 30,
        processors: 3,
    };
    let shards = |flags, file, made_with| {
        let mut settings = Settings::merge(flags, File::parse(file).unwrap()).unwrap();
        settings.share_out(machine, made_with).unwrap();
        assert_eq!(settings.to_file().shards, Some(settings.node.shards));
        settings.node.shards
    };
    let asked = Flags {
        shards: Some(6),
        ..flags()
    };
    assert_eq!(shards(asked.clone(), "shards = 5", Some(4)), 6);
    // That the data are others is for the start to refuse.
    assert_eq!(shards(flags(), "shards = 5", Some(4)), 5);
    assert_eq!(shards(flags(), "", Some(4)), 4);
    assert_eq!(shards(flags(), "", None), 3);
    assert!(usage(flags(), "shards = 65").contains("from 1 to 64"));
    assert!(usage(flags(), "shards = 0").contains("from 1 to 64"));
}

#[test]
fn what_is_printed_leads_to_the_same_settings() {
    let settings = Settings::merge(
        Flags {
            cache: Some(Size(12345)),
            row_cache: Some(Size(0)),
            ..flags()
        },
        File::default(),
    )
    .unwrap();
    let printed = toml::to_string(&settings.to_file()).unwrap();
    let again = Settings::merge(Flags::default(), File::parse(&printed).unwrap()).unwrap();
    assert_eq!(again.to_file(), settings.to_file());
    assert_eq!(
        (again.node.cache_bytes, again.node.row_cache_bytes),
        (12345, 0)
    );
}

#[test]
fn files_of_tls_come_from_flags_or_the_file_and_go_together() {
    let file = "metadata = 'etcds://h:2379'\nhttp_tls_cert = 'c'\nhttp_tls_key = 'k'\n\
                http_tls_client_ca = 'ca'\netcd_tls_ca = 'e'\netcd_tls_cert = 'ec'\n\
                etcd_tls_key = 'ek'\netcd_user = 'ann'\netcd_password_file = 'p'";
    let mut flags = Flags {
        metadata: None,
        ..flags()
    };
    flags.http_tls.key = Some("other".into());
    let settings = Settings::merge(flags, File::parse(file).unwrap()).unwrap();
    let tls = settings.http_tls.clone().unwrap();
    assert_eq!(tls.identity.certificate, PathBuf::from("c"));
    assert_eq!(tls.identity.key, PathBuf::from("other"));
    assert_eq!(tls.client_ca, Some("ca".into()));
    let MetadataPlace::Etcd(etcd) = &settings.metadata else {
        panic!("{settings:?}");
    };
    assert_eq!(etcd.tls.ca, Some("e".into()));
    assert_eq!(etcd.user.as_ref().unwrap().name, "ann");
    let printed = toml::to_string(&settings.to_file()).unwrap();
    let named = Flags {
        metadata: None,
        ..self::flags()
    };
    let again = Settings::merge(named, File::parse(&printed).unwrap()).unwrap();
    assert_eq!(again.to_file(), settings.to_file());
    assert_eq!(again.http_tls, settings.http_tls);
    assert_eq!(again.metadata, settings.metadata);
    for (file, words) in [
        (
            "http_tls_cert = 'c'",
            "--http-tls-cert goes with --http-tls-key",
        ),
        (
            "http_tls_key = 'k'",
            "--http-tls-key goes with --http-tls-cert",
        ),
        ("http_tls_client_ca = 'a'", "--http-tls-client-ca goes with"),
        (
            "etcd_tls_key = 'k'",
            "--etcd-tls-key goes with --etcd-tls-cert",
        ),
        (
            "etcd_user = 'ann'",
            "--etcd-user and --etcd-password-file go together",
        ),
    ] {
        let line = usage(self::flags(), file);
        assert!(line.starts_with(words), "{file:?} gave {line:?}");
    }
    let embedded = Flags {
        metadata: Some("embedded".to_owned()),
        ..self::flags()
    };
    assert!(usage(embedded, "etcd_tls_ca = 'e'").contains("no etcd"));
    let secret = Flags {
        metadata: Some("http://ann:sesame@h".to_owned()),
        ..self::flags()
    };
    let line = usage(secret, "");
    assert!(line.contains("...@h") && !line.contains("sesame"), "{line}");
}

#[test]
fn the_log_is_written_as_flags_then_file_then_defaults_say() {
    let file = "[log]\nblock_size = '4KiB'\npadding = 'pad'\ncompression = 'lz4'";
    let settings = Settings::merge(
        Flags {
            log: LogFlags {
                compression: Some(Compression::Zstd),
                direct_io: Some(true),
                ..LogFlags::default()
            },
            segment: Some(Size(8 << 10)),
            ..flags()
        },
        File::parse(file).unwrap(),
    )
    .unwrap();
    let options = settings.node.log_options();
    assert_eq!(
        options,
        dunlin_log::Options {
            block_size_bytes: 4096,
            padding: Padding::Pad,
            compression: Compression::Zstd,
            direct_io: true,
            segment_bytes: 8192,
            ..dunlin_node::NodeConfig::default().log_options()
        }
    );
    options.validate().unwrap();
    let printed = toml::to_string(&settings.to_file()).unwrap();
    let again = Settings::merge(Flags::default(), File::parse(&printed).unwrap()).unwrap();
    assert_eq!(again.node.log_options(), options);
    let defaults = Settings::merge(flags(), File::default()).unwrap();
    assert_eq!(
        defaults.node.log_options(),
        dunlin_log::Options {
            write_behind_bytes: options.write_behind_bytes,
            ..dunlin_log::Options::default()
        }
    );
    assert!(options.write_behind_bytes > 0);
}

#[test]
fn a_log_that_cannot_be_written_is_refused_at_the_start() {
    for (file, words) in [
        (
            "[log]\nblock_size = 5000",
            "log block size 5000 must be a power of two from 4KiB to 1MiB",
        ),
        ("[log]\nblock_size = '2KiB'", "log block size 2KiB must be"),
        ("[log]\nblock_size = '2MiB'", "log block size 2MiB must be"),
        (
            "[log]\nblock_size = '64TiB'",
            "log block size 64TiB must be",
        ),
        (
            "segment = '1MiB'\n[log]\nblock_size = '1MiB'",
            "segment 1MiB must be at least two blocks of the log, 2MiB",
        ),
        (
            "segment = 1000",
            "segment 1000 must be at least two blocks of the log, 64KiB",
        ),
    ] {
        let line = usage(flags(), file);
        assert!(line.starts_with(words), "{file:?} gave {line:?}");
    }
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
    for unset in [
        "advertise_http",
        "advertise_listen",
        "http_tls_cert",
        "http_tls_key",
        "http_tls_client_ca",
        "etcd_tls_ca",
        "etcd_tls_cert",
        "etcd_tls_key",
        "etcd_user",
        "etcd_password_file",
        "file",
        "mode",
        "link_logins",
    ] {
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
    assert!(usage(flags(), "[peer_secret]\nmode = 'offered'").contains("--peer-secret-file"));
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
        ("[log]\nblocksize = 5\n", "line 2: unknown key `blocksize`"),
        (
            "[log]\ncompression = 'zip'\n",
            "line 2: \"zip\" is no compression; write none, lz4 or zstd",
        ),
        (
            "[log]\n\npadding = 'zero'\n",
            "line 3: \"zero\" is no padding; write fragment or pad",
        ),
        ("[log]\ndirect_io = 'yes'\n", "line 2: "),
        ("shards = 1\ncashe = 5\n", "line 2: unknown key `cashe`"),
        (
            "[default_keyspace]\nsink = 'never'\n",
            "line 2: unknown key `sink`",
        ),
        (
            "[peer_secret]\nmode = 'maybe'",
            "line 2: expected required or offered",
        ),
        ("\n\nshards = 'two'", "line 3: "),
        (
            "move_latency = '20'",
            "line 1: \"20\" is not a latency; write one as in 20ms, 500us or 1s",
        ),
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
