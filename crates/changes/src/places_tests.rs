#![allow(clippy::unwrap_used)]
use futures_util::FutureExt;

use super::*;

const SHARD: ShardAddress = ShardAddress { node: 2, shard: 0 };
const OTHER: ShardAddress = ShardAddress { node: 2, shard: 1 };

#[tokio::test(start_paused = true)]
async fn a_place_goes_to_who_waits_longest_when_its_time_is_over() {
    let places = Places::default();
    let mut lent = Vec::new();
    for _ in 0..PLACES {
        lent.push(places.take(SHARD).now_or_never().unwrap());
    }
    assert!(places.take(OTHER).now_or_never().is_some());
    tokio::time::advance(LENT_FOR).await;
    assert!(!lent[0].is_over(), "nobody waits");
    {
        let mut first = Box::pin(places.take(SHARD));
        let mut second = Box::pin(places.take(SHARD));
        assert!((&mut first).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none());
        assert!(lent[0].is_over());
        drop(lent.remove(0));
        assert!((&mut second).now_or_never().is_none());
        let place = (&mut first).now_or_never().unwrap();
        // It has just begun; and bytes count, too.
        assert!(!place.is_over());
        let mut place = place;
        place.count(LENT_BYTES);
        assert!(place.is_over());
    }
    // Who has given up waits no more.
    assert!(!lent[0].is_over());
}
