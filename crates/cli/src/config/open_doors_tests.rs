use super::*;

fn warning(address: &str, guarded: Guarded) -> Option<String> {
    let door = Door {
        name: "the port for other nodes",
        address,
        guarded,
        remedy: "--peer-secret-file",
        rest: "--peer-secret-mode required",
    };
    door.warning()
}

#[test]
fn what_a_start_warns_of() {
    let addresses = [
        ("127.0.0.1:7080", true),
        ("127.9.9.9:7080", true),
        ("[::1]:7080", true),
        ("[::ffff:127.0.0.1]:7080", true),
        ("localhost:7080", true),
        ("0.0.0.0:7080", false),
        ("[::]:7080", false),
        ("10.0.0.1:7080", false),
        ("node.example.net:7080", false),
        ("localhost.example.net:7080", false),
    ];
    for (address, is_near) in addresses {
        assert_eq!(is_loopback(address), is_near, "{address}");
        let open = warning(address, Guarded::Not);
        assert_eq!(open.is_none(), is_near, "{address}");
        assert_eq!(
            warning(address, Guarded::Offered).is_none(),
            is_near,
            "{address}"
        );
        assert_eq!(warning(address, Guarded::Required), None, "{address}");
    }
}

#[test]
fn a_warning_says_in_one_line_what_to_do() {
    assert_eq!(
        warning("0.0.0.0:7080", Guarded::Not).unwrap(),
        "the port for other nodes 0.0.0.0:7080 lets in everybody who reaches it: give \
         --peer-secret-file, or listen on 127.0.0.1"
    );
    assert_eq!(
        warning("0.0.0.0:7080", Guarded::Offered).unwrap(),
        "the port for other nodes 0.0.0.0:7080 still lets in who proves nothing: give \
         --peer-secret-mode required"
    );
}
