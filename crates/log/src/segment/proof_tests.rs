#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_next_number_is_found_wherever_it_stands(
        number in prop_oneof![Just(0u32), Just(1), Just(0x0101_0101), any::<u32>()],
        length in 0usize..400,
        noise in prop::collection::vec((0usize..400, any::<u8>()), 0..20),
        places in prop::collection::vec(0usize..400, 0..4),
        begin in 0usize..420,
    ) {
        let mut window = vec![0; length];
        for (at, byte) in noise {
            if let Some(there) = window.get_mut(at) {
                *there = byte;
            }
        }
        for place in places {
            if let Some(there) = window.get_mut(place..place + 4) {
                there.copy_from_slice(&number.to_le_bytes());
            }
        }
        let mut at = begin;
        loop {
            let wanted = (at..).take_while(|at| at + RECYCLABLE_HEADER <= length).find(|at| {
                window[at + LEGACY_HEADER..at + RECYCLABLE_HEADER] == number.to_le_bytes()
            });
            prop_assert_eq!(candidate(&window, at, number), wanted);
            match wanted {
                Some(found) => at = found + 1,
                None => break,
            }
        }
    }
}
