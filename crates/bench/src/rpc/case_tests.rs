use super::*;

#[test]
fn every_case_stands_once_and_beside_its_rivals() {
    let cases = cases();
    for (number, case) in cases.iter().enumerate() {
        assert!(!cases[..number].contains(case), "{case:?}");
        assert!(cases.contains(&case.ping_pong()), "{case:?}");
    }
    let rival = |caller| {
        let same = |case: &&Calls| case.caller == caller && case.over == Over::Tcp;
        let of = |case: &Calls| {
            (
                case.connections,
                case.depth,
                case.processors == Processors::One,
            )
        };
        cases.iter().filter(same).map(of).collect::<Vec<_>>()
    };
    assert_eq!(rival(Caller::Dunlin), rival(Caller::Tonic));
    let streams = rival(Caller::Stream);
    assert_eq!(rival(Caller::Dunlin)[1..], streams);
}
