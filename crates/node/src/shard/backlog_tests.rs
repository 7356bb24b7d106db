#![allow(clippy::unwrap_used)]
use super::*;

#[tokio::test(start_paused = true)]
async fn writes_are_refused_once_applying_has_waited() {
    let backlog = Backlog::default();
    assert!(!backlog.refuses());
    backlog.is_full();
    assert!(!backlog.refuses(), "a flush mostly takes no longer");
    tokio::time::advance(PATIENCE).await;
    // It goes on counting from the first time.
    backlog.is_full();
    assert!(backlog.refuses());
    backlog.has_room();
    assert!(!backlog.refuses());
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_woken_by_the_other() {
    let backlog = Backlog::default();
    let begun = Instant::now();
    let most = Duration::from_secs(60);
    backlog.is_full();
    backlog.flush_due(most).await;
    backlog.began();
    backlog.room(most).await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
}
