use super::{Duty, STEP_DOWN_TICKS, UNFIT_TICKS, duty};

#[test]
fn a_replica_that_cannot_serve_has_another_lead_and_waits() {
    let cases = [
        (0, true, false, Duty::Lead),
        (UNFIT_TICKS - 1, true, false, Duty::Lead),
        (UNFIT_TICKS, true, false, Duty::Transfer),
        (STEP_DOWN_TICKS - 1, true, false, Duty::Transfer),
        (STEP_DOWN_TICKS, true, false, Duty::StepDown),
        (u32::MAX, true, false, Duty::StepDown),
        (0, false, false, Duty::Lead),
        (UNFIT_TICKS - 1, false, false, Duty::Lead),
        (UNFIT_TICKS, false, false, Duty::Wait),
        (STEP_DOWN_TICKS, false, false, Duty::Wait),
        // No other could lead.
        (STEP_DOWN_TICKS, true, true, Duty::Lead),
        (STEP_DOWN_TICKS, false, true, Duty::Lead),
    ];
    for (ticks, leads, is_alone, expected) in cases {
        assert_eq!(
            duty(ticks, leads, is_alone),
            expected,
            "{ticks} ticks, leads: {leads}, alone: {is_alone}"
        );
    }
}
