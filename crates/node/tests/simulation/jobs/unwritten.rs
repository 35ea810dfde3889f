//! A server says nothing and vouches for nothing that is not on its disk: the disk stands still at
//! that very moment, and the server is ended before it goes on.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use ostrakon_party::PartyId;

use super::{begin, hands, raise, settled, view};
use crate::closing::inside;
use crate::deployment::Deployment;

/// The other servers' chance to act on what they have heard.
const MEANWHILE: Duration = Duration::from_secs(30);

/// Three servers among which a hand is up.
fn with_a_hand(seed: u64) -> Arc<Deployment> {
    let deployment = begin(3, seed);
    raise(&deployment, PartyId(1), "the first").expect("it answers").expect("it is raised");
    assert!(settled(&deployment).is_some());
    deployment
}

fn shows(deployment: &Deployment, party: u8, name: &str) -> bool {
    hands(&view(deployment, PartyId(party)).expect("it answers")).contains(name)
}

/// Starts a server again that stood still; in the end all show what is raised then, believe each
/// other, and nobody shows what `lost` says.
fn goes_on(deployment: &Arc<Deployment>, party: PartyId, lost: Option<&str>) {
    deployment.kill(party);
    deployment.start(party);
    let mut raised = false;
    let again = || {
        raised = raised || matches!(raise(deployment, party, "the next"), Some(Ok(_)));
        raised
    };
    let beat = Duration::from_millis(500);
    assert!(
        deployment.executor.run_until(Duration::from_secs(120), beat, again),
        "{party} is not heard any more"
    );
    let shown = hands(&settled(deployment).expect("all agree"));
    assert!(shown.contains("the next"));
    assert!(lost.is_none_or(|lost| !shown.contains(lost)));
    for by in deployment.parties() {
        let faults = deployment.call(by, |server| async move { server.faults().await }.boxed());
        assert!(faults.unwrap().unwrap().is_empty(), "{by} blames somebody who is honest");
    }
    deployment.end();
}

/// What it had in mind has a number of its log, and after the restart something else has it.
#[test]
fn what_a_server_has_not_written_down_nobody_has_heard() {
    inside(|| {
        let deployment = with_a_hand(1);
        let author = PartyId(0);
        deployment.stall(author);
        let answer = raise(&deployment, author, "lost");
        assert!(!matches!(answer, Some(Ok(_))), "it answers before it has written it down");
        deployment.executor.run_for(MEANWHILE);
        for party in 1..3 {
            assert!(!shows(&deployment, party, "lost"), "server {party} has heard it");
        }
        goes_on(&deployment, author, Some("lost"));
    });
}

/// Two servers without the third do not agree: it could have been told something else.
#[test]
fn a_server_vouches_for_nothing_that_it_has_not_written_down() {
    inside(|| {
        let deployment = with_a_hand(2);
        let witness = PartyId(1);
        deployment.stall(witness);
        // It is written down where it is said, and stands there.
        raise(&deployment, PartyId(0), "said").expect("it answers").expect("it is raised");
        deployment.executor.run_for(MEANWHILE);
        assert!(shows(&deployment, 0, "said") && !shows(&deployment, 2, "said"));
        goes_on(&deployment, witness, None);
    });
}
