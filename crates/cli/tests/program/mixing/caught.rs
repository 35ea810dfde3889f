//! A server that lies in preparation is convicted by real processes, over a restart of all of them,
//! and by a file that anybody can judge.

use serde_json::json;

use super::liar::Liar;
use super::lies::Lie;
use super::servers::{Servers, name};
use super::turncoat::Will;
use super::{SHAPE, speak, status, until};
use crate::common::{complaint, json, nightly, run};

/// Four by day, whose room ends; five, who go on, at night (by day in virtual time, `asynchromix`).
#[test]
fn a_liar_is_convicted_by_a_file_that_anybody_can_judge() {
    let lies = [(4, Lie::Numbers, "false_numbers"), (5, Lie::Result, "false_result")];
    for (n, lie, deed) in lies.into_iter().filter(|(n, ..)| nightly() || *n == 4) {
        let mut servers = Servers::found(n, &SHAPE);
        let (liar, link) = (n - 1, servers.link.clone());
        (0..liar).for_each(|i| servers.start(i));
        let corrupt = Liar::start(&servers.home(liar), Will::Lies(lie));
        let named = json!([{ "server": liar, "name": name(liar), "deed": deed }]);
        until(&link, "conviction", |now| now["convicted"] == named);
        let case = servers.file("case.json");
        let case = case.to_str().unwrap();
        let convicted = json(&["mixer", "evidence", &link, "--output", case, "--json"]);
        let of = &convicted[0][0];
        assert_eq!(
            (&of["server"], &of["name"], &of["deed"]),
            (&liar.into(), &name(liar).into(), &deed.into())
        );
        let judge = ["mixer", "judge", case, "--link", &link];
        assert_eq!(json(&[&judge[..], &["--json"]].concat()), convicted);

        // All others are killed and started again: they know it from their disks.
        (0..liar).for_each(|i| servers.kill(i));
        (0..liar).for_each(|i| servers.start(i));
        until(&link, "restart", |now| now["convicted"] == named);
        assert_eq!(json(&["mixer", "evidence", &link, "--json"]), convicted);
        let words = String::from_utf8(run(&["mixer", "status", &link]).stdout).unwrap();
        assert!(words.contains(&format!("{} was caught: it ", name(liar))), "{words}");
        assert_eq!(servers.operated_with(0, &"0".repeat(64)).0, 401);
        for i in 0..liar {
            let shown = servers.operated(i);
            assert_eq!(shown["servers"][liar]["convicted"], deed, "{shown}");
            assert_eq!(shown["ended"], if n == 4 { json!("convicted") } else { json!(null) });
        }
        let device = servers.file("device");
        if n == 4 {
            // Nothing was ever prepared, and nothing will be.
            let now = status(&link).unwrap();
            assert_eq!((&now["prepared"], &now["ended"]), (&json!(0), &json!("convicted")));
            let state = ["--state-dir", device.to_str().unwrap()];
            let refused = complaint(&[&["say", &link, "in vain"][..], &state].concat(), 1);
            assert!(refused.contains("caught lying") && refused.contains("not said"), "{refused}");
        } else {
            speak(&link, "without it", &device);
        }
        // Nobody needs to be asked to judge it.
        drop(corrupt);
        servers.stop();
        assert_eq!(json(&[&judge[..], &["--json"]].concat()), convicted);
    }
}
