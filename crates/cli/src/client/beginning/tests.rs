use std::path::Path;

use ostrakon_client::{Millis, servers_of};
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_decide::{DecisionId, Operators};

use super::*;
use crate::beginnings_script::{BEGINNINGS, BeginningScript, Played};
use crate::client::connection::driver::played::play;

#[tokio::test(start_paused = true)]
async fn the_command_line_begins_decisions_as_the_scripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    for name in BEGINNINGS {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let script: BeginningScript = serde_json::from_str(&text).unwrap();
        let servers = servers_of(&serde_json::from_value(script.servers.clone()).unwrap()).unwrap();
        let operators = Operators::new(&servers).unwrap();
        let (creator, seed) = (SigningKey::from_seed(&script.key), Secret::new(script.seed));
        let beginning = Beginning::new(operators, creator, script.draft.clone(), &seed);
        let (time, played) = ((script.start, script.lasts), Played::new(&script.exchanges));
        let wishes: &[(Millis, ())] = &[];
        let mut done = Vec::new();
        let other = |beginning: &mut Beginning, now, one| {
            if one == BeginningAction::Keep {
                beginning.kept(now, true);
            }
            done.push(one);
        };
        let played = play(time, played, beginning, wishes, |_, _, ()| {}, other).await;
        assert_eq!(played.asked, script.exchanges, "{name}");
        // Only who decides, too, has a stock to be filled before.
        let stocked = BeginningAction::Tell(BeginningNews::Stocked);
        assert_eq!(done.contains(&stocked), name == BEGINNINGS[0]);
        done.retain(|one| *one != stocked);
        assert_eq!(done[0], BeginningAction::Keep);
        assert!(matches!(done[1], BeginningAction::Tell(BeginningNews::Begun(_))));
        assert_eq!(done[2..], [BeginningAction::Tell(BeginningNews::Shown)]);
    }
}

#[test]
fn what_may_have_begun_is_told_with_its_link_and_keeps_its_exit_code() {
    let (origin, servers) = ("https://a.example".to_owned(), Digest([7; 32]));
    let link = Link { origin, decision: DecisionId([5; 16]), servers, invitation: None };
    let away = failure::unreachable("https://a.example does not answer");
    let told = doubtful(&link, away);
    let words = format!("{told:#}");
    assert!(words.contains(&format!("`ostrakon decide status {link}`")), "{words}");
    assert!(words.ends_with("does not answer"), "{words}");
    assert!(failure::is_unreachable(&told));
    let altered = failure::exit_code(&doubtful(&link, failure::unproven("another decision")));
    assert_eq!(altered, std::process::ExitCode::from(3));
}
