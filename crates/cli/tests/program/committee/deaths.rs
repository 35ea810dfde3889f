//! Processes of members that are killed at moments of an answer that their disks tell apart.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};

use super::moments::Moment;
use super::{Members, Person, answered, seen_by_operator};
use crate::common::{free_base_port, nightly, signal, values};

/// How many people report.
const REPORTS: usize = 3;
/// Between two looks at a disk, on which nothing changes any more once the moment has come.
const LOOK: Duration = Duration::from_millis(20);

/// A member's database.
struct Disk<'a>(&'a tokio::runtime::Runtime, SqliteConnection);

impl Disk<'_> {
    fn write(&mut self, statements: String) {
        let Self(runtime, database) = self;
        runtime.block_on(sqlx::raw_sql(AssertSqlSafe(statements)).execute(database)).unwrap();
    }

    fn says(&mut self, condition: &str) -> bool {
        let Self(runtime, database) = self;
        let asked = AssertSqlSafe(format!("SELECT {condition}"));
        let row = runtime.block_on(sqlx::query(asked).fetch_one(database)).unwrap();
        row.get::<i64, _>(0) > 0
    }
}

fn disk<'a>(runtime: &'a tokio::runtime::Runtime, site: &Path, member: usize) -> Disk<'a> {
    let file = site.join(format!("member-{}/member.db", member + 1));
    let url = format!("sqlite://{}", file.display());
    Disk(runtime, runtime.block_on(SqliteConnection::connect(&url)).unwrap())
}

/// A committee of processes of which one is killed at this moment: all three reports are in the
/// answer, and it came out of the first attempt; whether there is such a moment.
fn killed_at(members: usize, victim: usize, moment: Moment) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let base = free_base_port();
    let running = Members::start_of(members, &site, base);
    let home = directory.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let person = Person(&home);
    let create = ["stats", "create", "--server", &running.origin, "--question", "How many?"];
    let asked = ["--statistic", "median", "--statistic", "sum", "--largest", "100"];
    let whom = ["--minimum", "3", "--invitations", "3", "--json"];
    let created = person.json(&[&create[..], &asked, &whom].concat());
    let link = created["link"].as_str().unwrap();
    for (invitation, number) in created["invitations"].as_array().unwrap().iter().zip(["5", "60"]) {
        person.json(&["stats", "report", invitation.as_str().unwrap(), number, "--json"]);
    }

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut disk = disk(&runtime, &site, victim);
    disk.write(moment.freeze(victim, REPORTS));
    let last = created["invitations"][2].as_str().unwrap();
    let process = running.processes()[victim];
    let condition = moment.condition(victim, REPORTS);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            person.json(&["stats", "report", last, "30", "--json"]);
            // A member that is dead takes no order; it hears of it from the others.
            person.run(&["stats", "close", link]);
            answered(&person, &["stats", "result", link, "--json"])
        });
        let died = loop {
            if disk.says(&condition) {
                break true;
            }
            if asking.is_finished() {
                break false;
            }
            std::thread::sleep(LOOK);
        };
        if died {
            let origin = format!("http://127.0.0.1:{}", usize::from(base) + victim);
            let shown = seen_by_operator(&origin, &site.join(format!("member-{}", victim + 1)));
            its_operator_counts_rounds(&shown["computations"][0], moment, &mut disk);
            signal("KILL", process);
            disk.write(Moment::THAW.into());
        }
        let result = values(&asking.join().unwrap()).remove(0);
        assert_eq!(result["reports"], 3, "{moment:?}: {result}");
        assert_eq!(result["answers"][0]["quantile"]["value"], 30, "{moment:?}: {result}");
        assert_eq!(result["answers"][1]["sum"], 95, "{moment:?}: {result}");
        let most = if moment == Moment::Counted { 2 } else { 1 };
        let again = format!("(SELECT MAX(generation) FROM computations) > {most}");
        assert!(!disk.says(&again), "{moment:?}: begun again");
        if died {
            assert!(!running.processes().contains(&process), "it was killed, and started again");
        }
        died
    })
}

/// The operator is shown as many exchanges as are on the member's disk: some, once it has been
/// through the preparation.
fn its_operator_counts_rounds(shown: &Value, moment: Moment, disk: &mut Disk<'_>) {
    let count = |name: &str| shown[name].as_u64().unwrap();
    let exchanges = count("exchanges");
    let kept = format!("(SELECT COUNT(*) FROM attempts WHERE place > 0) = {exchanges}");
    assert!(disk.says(&kept), "{moment:?}: {shown}");
    if matches!(moment, Moment::Pieces(_) | Moment::Marks(2..)) {
        assert!(count("begun") == 1 && exchanges > 0, "{moment:?}: {shown}");
    }
}

/// By default a member of three is killed when it has marked the reports' differences, before it
/// tells them;
/// `OSTRAKON_NIGHTLY` kills every member at every moment, with three and with five.
#[test]
fn members_are_killed_at_moments_of_an_answer_and_what_came_out_is_the_same() {
    assert!(killed_at(3, 1, Moment::Marks(2)));
    if !nightly() {
        return;
    }
    for members in [3, 5] {
        for victim in 0..members {
            for moment in Moment::ONCE {
                assert!(killed_at(members, victim, moment), "{moment:?}");
            }
            let mut marks = 1..;
            while marks.next().is_some_and(|marks| killed_at(members, victim, Moment::Marks(marks)))
            {
            }
            for pieces in (1..).step_by(19) {
                if !killed_at(members, victim, Moment::Pieces(pieces)) {
                    break;
                }
            }
        }
    }
}
