#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

const OLD: &str = "an old secret of the cluster\n";
const NEW: &str = "a new secret of the cluster\n";
const OTHER: &str = "a secret of somebody else\n";

fn secrets(text: &str) -> Arc<Secrets> {
    Arc::new(Secrets::parse(text.as_bytes()).unwrap())
}

/// An opening between two that know these, to its end at either side.
fn meet(opener: &str, acceptor: &str) -> (bool, Result<(), Refusal>) {
    let (opening, request) = Opener::begin(Door::Peer, secrets(opener), [1; 32]);
    let (challenge, challenged) = challenge(Door::Peer, Some(secrets(acceptor)), &request, [2; 32]);
    let (waiting, proof) = opening.prove(&challenge).unwrap();
    let judged = challenged.ok().unwrap().judge(&proof);
    (judged.is_proven, waiting.accepted(&judged.verdict))
}

#[test]
fn who_knows_the_secret_gets_in() {
    let both = format!("{OLD}{NEW}");
    let turned = format!("{NEW}{OLD}");
    let cases = [
        (OLD, OLD, true),
        (OLD, NEW, false),
        (OTHER, OLD, false),
        // The steps of a rotation, each beside the one before.
        (OLD, &both, true),
        (&both, OLD, true),
        (&both, &turned, true),
        (&turned, &both, true),
        (&turned, NEW, true),
        (NEW, &turned, true),
        // A step left out.
        (&turned, OLD, false),
    ];
    for (opener, acceptor, fits) in cases {
        let expected = (fits, if fits { Ok(()) } else { Err(Refusal::Wrong) });
        assert_eq!(meet(opener, acceptor), expected, "{opener:?} {acceptor:?}");
    }
}

#[test]
fn a_proof_holds_for_one_opening_only() {
    let known = secrets(OLD);
    let (opener, request) = Opener::begin(Door::Peer, known.clone(), [1; 32]);
    let (first, challenged) = challenge(Door::Peer, Some(known.clone()), &request, [2; 32]);
    let (_, proof) = opener.prove(&first).unwrap();
    let judged = challenged.ok().unwrap().judge(&proof);
    assert!(judged.is_proven);
    // Replayed, against another nonce of the acceptor.
    let (_, again) = challenge(Door::Peer, Some(known.clone()), &request, [3; 32]);
    assert!(!again.ok().unwrap().judge(&proof).is_proven);
    // At another door, even with the same nonces.
    let copy = Step::request(Door::Copy, [1; 32]).encode();
    let (_, other) = challenge(Door::Copy, Some(known.clone()), &copy, [2; 32]);
    assert!(!other.ok().unwrap().judge(&proof).is_proven);
    // Reflected: what the acceptor proved is of no use to an opener, nor the other way round.
    let own: [u8; 32] = judged.verdict[8..].try_into().unwrap();
    let (_, reflected) = challenge(Door::Peer, Some(known.clone()), &request, [2; 32]);
    assert!(!reflected.ok().unwrap().judge(&own).is_proven);
    let (opener, _) = Opener::begin(Door::Peer, known, [1; 32]);
    let (waiting, proof) = opener.prove(&first).unwrap();
    let mirrored = Step::answer(Status::Fine, proof).encode();
    assert_eq!(waiting.accepted(&mirrored), Err(Refusal::Impostor));
}

#[test]
fn what_an_acceptor_refuses_it_says() {
    let request = |door| Step::request(door, [1; 32]).encode();
    let mut newer = request(Door::Peer);
    newer[4] = 2;
    let known = || Some(secrets(OLD));
    let cases = [
        (
            request(Door::Peer),
            None,
            Refusal::NoSecretHere,
            Refusal::NoSecret,
        ),
        (
            request(Door::Copy),
            known(),
            Refusal::OtherDoor,
            Refusal::OtherDoor,
        ),
        (
            newer,
            known(),
            Refusal::Version(2),
            Refusal::Version(VERSION),
        ),
        (
            [0; STEP_BYTES],
            known(),
            Refusal::Strange,
            Refusal::OtherDoor,
        ),
    ];
    for (request, known, here, there) in cases {
        let (answer, challenged) = challenge(Door::Peer, known, &request, [2; 32]);
        assert_eq!(challenged.err(), Some(here));
        let (opener, _) = Opener::begin(Door::Peer, secrets(OLD), [1; 32]);
        assert_eq!(opener.prove(&answer).err(), Some(there));
        assert_eq!(&answer[8..], [0; 32], "a refusal gives away nothing");
    }
}

#[test]
fn without_secrets_nobody_is_believed() {
    let (_, request) = Opener::begin(Door::Peer, secrets(OLD), [1; 32]);
    let none = Some(Arc::new(Secrets::none()));
    let (_, challenged) = challenge(Door::Peer, none, &request, [2; 32]);
    assert!(!challenged.ok().unwrap().judge(&[0; 32]).is_proven);
}

proptest! {
    #[test]
    fn no_bytes_get_through(request: [u8; 40], valid: bool, proof: [u8; 32], nonce: [u8; 32]) {
        let request = if valid { Step::request(Door::Peer, proof).encode() } else { request };
        let (_, challenged) = challenge(Door::Peer, Some(secrets(OLD)), &request, nonce);
        if let Ok(challenged) = challenged {
            prop_assert!(!challenged.judge(&proof).is_proven);
        }
    }

    #[test]
    fn no_answer_is_believed(challenge: [u8; 40], valid: bool, verdict: [u8; 40], fine: bool) {
        let challenge = if valid { Step::answer(Status::Fine, [7; 32]).encode() } else { challenge };
        let (opener, _) = Opener::begin(Door::Peer, secrets(OLD), [1; 32]);
        if let Ok((waiting, _)) = opener.prove(&challenge) {
            let mut verdict = verdict;
            if fine {
                verdict[..8].copy_from_slice(&Step::answer(Status::Fine, [0; 32]).encode()[..8]);
            }
            prop_assert!(waiting.accepted(&verdict).is_err());
        }
    }
}
