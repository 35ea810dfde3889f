//! A server whose disk has changed what was said of a decision does not begin, and says why.

use std::time::Duration;

use ostrakon_node::Service;
use sqlx::AnyConnection;

use super::database;
use super::group::Group;
use crate::common::{Deployment, LONG};

/// What a server says that it waits for, once it has looked at its disk.
async fn reason(server: &Service) -> String {
    let looked = async {
        loop {
            let readiness = server.readiness();
            if readiness.ready || readiness.detail.contains("database") {
                return readiness.detail;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, looked).await.expect("it says what it waits for")
}

/// The words of decisions, in the order in which they were delivered.
async fn words(database: &mut AnyConnection) -> Vec<(i64, i64, Vec<u8>)> {
    let query = "SELECT id, author, word FROM job_words ORDER BY id";
    sqlx::query_as(query).fetch_all(database).await.unwrap()
}

async fn change(deployment: &Deployment, (id, author, word): (i64, i64, &[u8])) {
    let mut database = database(deployment, 1).await;
    let update = sqlx::query("UPDATE job_words SET author = $1, word = $2 WHERE id = $3");
    let update = update.bind(author).bind(word).bind(id);
    assert_eq!(update.execute(&mut database).await.unwrap().rows_affected(), 1);
}

/// Each way is one byte, or a whole word: what is left is well formed in some, and follows from
/// nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_changed_word_of_a_decision_is_named_with_the_remedy() {
    let mut deployment = Deployment::start().await;
    let mut group = Group::answering_of(3, &deployment, 0, 0).await;
    group.answer(&deployment, 1, 0).await;
    group.until(&deployment, 1, |info| info.answered == 1).await;
    deployment.stop(1).await;
    let whole = words(&mut database(&deployment, 1).await).await;
    assert!(whole.len() > 3, "a first record, acceptances and an answer");
    let ((first, author, begins), (second, _, accepts)) = (&whole[0], &whole[1]);
    let flipped = |word: &[u8], at: usize| {
        let mut word = word.to_vec();
        word[at] ^= 1;
        word
    };
    let damages = [
        ("its form", *first, *author, flipped(begins, 0)),
        ("a draft", *first, *author, flipped(begins, begins.len() / 2)),
        ("whose it is", *second, *author, flipped(accepts, 8)),
        ("its place", *second, *author, flipped(accepts, 24)),
        ("what it says", *second, *author, flipped(accepts, accepts.len() / 2)),
        ("another record", *second, *author, whole[2].2.clone()),
        ("who said it", *second, 2, accepts.clone()),
        ("a server that there is not", *second, 7, accepts.clone()),
    ];
    for (what, id, by, word) in damages {
        change(&deployment, (id, by, &word)).await;
        let server = deployment.restart_without_waiting(1).await;
        let told = reason(&server).await;
        for part in ["damaged", "job_words.", "as the guide says"] {
            assert!(told.contains(part), "{what}: {told:?}");
        }
        server.stop().await;
        let (id, by, word) = whole.iter().find(|(known, ..)| *known == id).unwrap();
        change(&deployment, (*id, *by, word)).await;
    }
    deployment.start_again(1).await;
    group.until(&deployment, 1, |info| info.answered == 1).await;
}
