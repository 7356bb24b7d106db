use super::*;

#[test]
fn pages_go_the_second_way_where_there_is_one() {
    for (is_first_up, second, which) in [
        (true, State::Up, Way::Second),
        (true, State::Coming, Way::Wait),
        (true, State::Down, Way::First),
        (true, State::Never, Way::First),
        // Whoever cannot be put to is not read from either.
        (false, State::Up, Way::First),
        (false, State::Coming, Way::First),
        (false, State::Down, Way::First),
        (false, State::Never, Way::First),
    ] {
        assert_eq!(way(is_first_up, second), which, "{is_first_up} {second:?}");
    }
}
