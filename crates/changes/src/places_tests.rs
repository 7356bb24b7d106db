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
    {
        let mut first = Box::pin(places.take(SHARD));
        let mut second = Box::pin(places.take(SHARD));
        assert!((&mut first).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none());
        assert!(lent[0].over().now_or_never().is_none(), "it has just begun");
        tokio::time::sleep(LENT_FOR).await;
        assert!(lent[0].over().now_or_never().is_some());
        drop(lent.remove(0));
        assert!((&mut second).now_or_never().is_none());
        let mut place = (&mut first).now_or_never().unwrap();
        // Bytes count, too.
        assert!(place.over().now_or_never().is_none());
        place.bytes = LENT_BYTES;
        assert!(place.over().now_or_never().is_some());
    }
    // Who has given up waits no more, and one place is free.
    let mut over = Box::pin(lent[0].over());
    assert!((&mut over).now_or_never().is_none());
    let free = places.take(SHARD).now_or_never();
    assert!(free.is_some());
    let mut last = Box::pin(places.take(SHARD));
    assert!((&mut last).now_or_never().is_none());
    assert!((&mut over).now_or_never().is_some());
}
