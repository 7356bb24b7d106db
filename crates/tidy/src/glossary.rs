//! The glossary: words that this code used for itself, and the field's word for each.

/// A word to avoid.
pub struct Term {
    /// The word, in its forms; the first names it in `ceilings.txt`.
    pub old: &'static [&'static str],
    /// What to say instead.
    pub new: &'static str,
    /// Where it counts.
    pub scope: Scope,
}

/// Where a word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In names, as one of their words, and in prose.
    Everywhere,
    /// In names, as one of their words; in prose it is plain English.
    Names,
    /// As the whole name of a type; elsewhere it is plain English.
    Types,
    /// In comments, strings and documents; a term may be of several words.
    Prose,
}

const fn everywhere(old: &'static [&'static str], new: &'static str) -> Term {
    Term {
        old,
        new,
        scope: Scope::Everywhere,
    }
}

const fn names(old: &'static [&'static str], new: &'static str) -> Term {
    Term {
        old,
        new,
        scope: Scope::Names,
    }
}

const fn types(old: &'static [&'static str], new: &'static str) -> Term {
    Term {
        old,
        new,
        scope: Scope::Types,
    }
}

const fn prose(old: &'static [&'static str], new: &'static str) -> Term {
    Term {
        old,
        new,
        scope: Scope::Prose,
    }
}

/// All terms, each with what to say instead.
pub const TERMS: &[Term] = &[
    // Replication and quorums.
    everywhere(&["told"], "event, report or reply; `the leader sends X`"),
    everywhere(
        &["asked", "asker", "askers"],
        "request, requested; client or principal",
    ),
    everywhere(
        &["met"],
        "lookup result, blocker, conflict; a condition holds",
    ),
    everywhere(&["begun"], "started"),
    everywhere(&["looked"], "checked, read"),
    everywhere(
        &["mend", "mends", "mended", "mending"],
        "repair; read repair for replicas; fix for code",
    ),
    everywhere(&["heed", "heeds", "heeded"], "subscribe, observe"),
    everywhere(
        &["vouch", "vouches", "vouched"],
        "be authoritative for, confirm",
    ),
    everywhere(&["hearsay"], "gossip"),
    everywhere(&["aside"], "bulk connection, in the background"),
    everywhere(&["lacks"], "misses, does not have"),
    everywhere(
        &["orphan", "orphans"],
        "unowned versions; files that nothing compiles",
    ),
    everywhere(
        &["twin", "twins"],
        "timestamp collision, fencing of a node, duplicate",
    ),
    everywhere(&["abreast"], "in the same phase, caught up"),
    everywhere(&["bystander", "bystanders"], "spare node"),
    everywhere(&["doubt", "doubts"], "data-loss evidence"),
    everywhere(&["unsure"], "ack floor"),
    everywhere(
        &["refill", "refills", "refilled", "refilling"],
        "data-loss recovery",
    ),
    everywhere(
        &["restamp", "restamps", "restamped"],
        "assign a new timestamp",
    ),
    everywhere(&["stamp", "stamps", "stamped", "stamping"], "timestamp"),
    everywhere(
        &["widen", "widens", "widened"],
        "raise the replication width",
    ),
    everywhere(&["walks"], "scan; scan cursors"),
    everywhere(&["buried", "bury"], "removed"),
    everywhere(&["mute", "muted"], "suspended"),
    everywhere(&["verdict", "verdicts"], "outcome, decision, acceptance"),
    everywhere(&["books"], "transfer progress, accounting"),
    everywhere(&["rank", "ranks"], "last-writer-wins order"),
    names(
        &["shown", "settle", "settled", "unsettled"],
        "commit watermark, resolved, unresolved",
    ),
    names(&["also"], "joint replicas"),
    names(&["level"], "caught up, phase complete"),
    names(&["moves"], "rebalance"),
    names(&["far"], "future timestamp"),
    names(&["past"], "data-loss evidence"),
    names(&["placed"], "holder"),
    prose(&["is level", "are level"], "caught up"),
    prose(
        &["page of stored records", "pages of stored records"],
        "snapshot",
    ),
    prose(&["what the log has had since"], "tail"),
    // Flow control and access.
    everywhere(
        &["pace", "paces", "paced", "pacing", "unpaced"],
        "throttle, rate limit",
    ),
    everywhere(&["quiet"], "range lock; idle"),
    everywhere(&["gate", "gates"], "drain, admission"),
    everywhere(&["door", "doors"], "admission, listener"),
    everywhere(&["rare"], "boxed, slow path"),
    everywhere(&["let_in"], "authorize, dispatch"),
    everywhere(&["barred"], "refused, unauthorized"),
    everywhere(
        &["judge", "judges", "judged", "judging"],
        "check, decide, authorize",
    ),
    everywhere(&["tend", "tends", "tended"], "maintain, background work"),
    names(&["turns"], "read scheduler, slots"),
    prose(&["in turns", "by turns"], "round robin, alternately"),
    // Types.
    everywhere(&["nonsense"], "invalid, malformed"),
    everywhere(&["unheard"], "call failure, no reply"),
    types(
        &["Place", "Places"],
        "a position, an identifier or a slot, by its name",
    ),
    types(&["Part", "Parts"], "partition copy, section, participant"),
    types(&["Stands"], "stalled"),
    types(&["Beat"], "heartbeat"),
    types(&["AtShard"], "StreamsAtShard and the like"),
    types(&["Found"], "lookup result"),
    types(&["What"], "batch, kind"),
    types(&["World"], "runtime"),
    types(&["Here"], "leader context"),
    types(&["Above"], "precedence"),
    types(&["Joined"], "tail member"),
    types(&["Fill"], "transfer"),
    types(&["Tie"], "reachability"),
    // Sentences: a subject, a verb, an object.
    prose(
        &["who is", "who are", "who was"],
        "a noun: `the client that ..`, `the node that ..`",
    ),
    prose(
        &["who has", "who had", "who have"],
        "a noun: `the replica that has ..`",
    ),
    prose(
        &["who asks", "who leads", "who follows", "who holds"],
        "client, leader, follower, holder",
    ),
    prose(
        &[
            "who comes",
            "who goes",
            "who waits",
            "who reads",
            "who writes",
        ],
        "reader, writer, waiter",
    ),
    prose(
        &["who may", "who can", "who wants", "who does", "who knows"],
        "a noun: `a user that may ..`",
    ),
    prose(
        &["of two that", "of those that", "of all that"],
        "the subject first: `when two ..`",
    ),
    prose(
        &["what was", "what is", "what has", "what had"],
        "a noun: `entries that were ..`",
    ),
    prose(
        &["what comes", "what goes", "what came", "what went"],
        "a noun: `entries that arrive ..`",
    ),
    prose(
        &["nobody waits for", "nobody speaks of", "nobody has"],
        "in the background, unresolved, missing",
    ),
    prose(
        &["stands in", "stand in", "stood still"],
        "is in, was paused",
    ),
];
