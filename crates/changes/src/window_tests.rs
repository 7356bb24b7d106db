#![allow(clippy::unwrap_used)]
use std::time::Duration;

use tokio::time::timeout;

use super::*;

#[tokio::test(start_paused = true)]
async fn there_is_room_once_what_was_given_is_gone() {
    let window = Arc::new(Window::default());
    window.room().await;
    let first = window.count(vec![0; PIECE_BYTES].into());
    let rest = first.slice(10..);
    drop(first);
    let soon = Duration::from_secs(1);
    assert!(timeout(soon, window.room()).await.is_err());
    let later = window.clone();
    let waiting = tokio::spawn(async move { later.room().await });
    tokio::task::yield_now().await;
    drop(rest);
    waiting.await.unwrap();
}
