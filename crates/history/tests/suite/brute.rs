//! The search against one that tries every order of every choice of the unknown.

use dunlin_history::{Kind, Operation, Outcome, Value};
use proptest::prelude::*;

use super::{judge, operation};

/// Tries everything: which unknown ones happened, and in which order.
fn has_order(value: Option<Value>, left: &[&Operation]) -> bool {
    let is_over = |o: &Operation| matches!(o.outcome, Outcome::Unknown { .. });
    if left.iter().all(|o| is_over(o)) {
        return true;
    }
    (0..left.len()).any(|index| {
        let next = left[index];
        let mut rest = left.to_vec();
        rest.remove(index);
        // Nothing that is left may have ended before this began; an unknown one need not happen.
        let end = |o: &Operation| match o.outcome {
            Outcome::Ok { returned } | Outcome::Unmet { returned } => Some(returned),
            _ => None,
        };
        if rest
            .iter()
            .any(|o| end(o).is_some_and(|end| end < next.invoked))
        {
            return false;
        }
        // What must end before this began does not happen any more.
        let until = |o: &Operation| match o.outcome {
            Outcome::Unknown { until } => until,
            _ => None,
        };
        rest.retain(|o| until(o).is_none_or(|until| until >= next.invoked));
        let after = match (next.kind, next.outcome) {
            (Kind::Put(new), _) => Some(new),
            (Kind::Delete, _) => None,
            (Kind::Get(found), _) if found == value => value,
            (Kind::Swap { expected, .. }, Outcome::Unmet { .. }) if expected != value => value,
            (Kind::Swap { .. }, Outcome::Unmet { .. }) => return false,
            (
                Kind::Swap {
                    expected,
                    value: new,
                },
                _,
            ) if expected == value => new,
            _ => return false,
        };
        has_order(after, &rest)
    })
}

fn is_history(operations: &[Operation]) -> bool {
    let relevant = operations.iter().filter(|o| match o.outcome {
        Outcome::Failed => false,
        Outcome::Unknown { until } => {
            !matches!(o.kind, Kind::Get(_)) && until.is_none_or(|until| until >= o.invoked)
        }
        _ => true,
    });
    has_order(None, &relevant.collect::<Vec<_>>())
}

/// Few values, so that they are seldom unique.
fn value() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![1 => Just(None), 3 => (1..4_u64).prop_map(Some)]
}

fn kind(conditions: u32) -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => (1..4_u64).prop_map(Kind::Put),
        2 => Just(Kind::Delete),
        conditions => (value(), value()).prop_map(|(expected, value)| Kind::Swap { expected, value }),
        5 => value().prop_map(Kind::Get),
    ]
}

fn any_operation(conditions: u32) -> impl Strategy<Value = Operation> {
    (kind(conditions), 0..20_u64, 0..8_u64, 0..10_u8).prop_map(|(kind, invoked, length, end)| {
        let returned = invoked + length;
        let outcome = match (end, kind) {
            (0..=1, _) => Outcome::Unknown { until: None },
            (2, _) => Outcome::Unknown {
                until: Some(returned),
            },
            (3..=4, Kind::Swap { .. }) => Outcome::Unmet { returned },
            (5, Kind::Put(_)) => Outcome::Failed,
            _ => Outcome::Ok { returned },
        };
        operation(kind, invoked, outcome)
    })
}

fn agrees(operations: &[Operation]) -> Result<(), TestCaseError> {
    let report = judge(operations);
    prop_assert!(report.undecided.is_empty());
    prop_assert_eq!(
        report.is_linearizable(),
        is_history(operations),
        "{}",
        report
    );
    for violation in &report.violations {
        prop_assert!(!is_history(&violation.proof), "{}", report);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn it_agrees_with_trying_everything(
        operations in prop::collection::vec(any_operation(0), 1..8),
    ) {
        agrees(&operations)?;
    }

    #[test]
    fn it_agrees_with_trying_everything_under_conditions(
        operations in prop::collection::vec(any_operation(4), 1..8),
    ) {
        agrees(&operations)?;
    }
}

/// Both verdicts come up often enough for the comparison to mean something.
#[test]
fn both_verdicts_are_frequent() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = prop::collection::vec(any_operation(2), 4..8);
    let mut good = 0;
    for _ in 0..2_000 {
        let operations = strategy.new_tree(&mut runner).unwrap().current();
        good += u32::from(is_history(&operations));
    }
    assert!((200..1_800).contains(&good), "{good} of 2000");
}
