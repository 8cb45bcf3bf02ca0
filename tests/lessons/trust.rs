//! Programs of a lesson are started only as the user has allowed them: at the same place, and with everything beside
//! them unchanged.

use std::{fs, os::unix::fs::symlink};

use lockstep::{
    lesson::{Param, Params, Scenario, library::load_file},
    run::session::{self, Update},
};

use crate::{
    free_support::options,
    place::{Answer, Place},
    texts::{HEAD, ONLY},
};

/// Records that it has run, and sends one request.
const WORKER: &str = r#"
echo "$0" >> "$HOME/ran"
exec 3<>"/dev/tcp/$REDIS_HOST/$REDIS_PORT"
printf 'SET lock x\r\n' >&3
IFS= read -r reply <&3
"#;

/// A lesson whose client is this command.
fn lesson(exec: &str) -> String {
    format!(
        "{HEAD}lab: redis
params: {{ prog: worker }}
clients:
  A: {{ exec: {exec}, speaks: redis, moves: [SET], locks: [lock] }}
{ONLY}    story: [ move: A.SET ]
    claims: [ that: A.SET == 'OK' ]
"
    )
}

fn place(exec: &str) -> Place {
    let place = Place::new();
    place.write("mine/lesson.yaml", lesson(exec));
    place.write("mine/worker.sh", WORKER);
    place
}

fn trust(place: &Place, file: &str) -> Answer {
    let allowed = place.run(&["trust", file]);
    assert_eq!(allowed.code, Some(0), "{}", allowed.err);
    allowed
}

#[track_caller]
fn assert_runs(place: &Place, file: &str) {
    let shown = place.run(&["run", file]);
    assert_eq!(shown.code, Some(0), "{}{}", shown.out, shown.err);
    fs::remove_file(place.path().join("ran")).expect("it has run");
}

#[track_caller]
fn assert_refused(place: &Place, file: &str, why: &str) {
    let refused = place.run(&["run", file]);
    assert_eq!(refused.code, Some(2), "{}{}", refused.out, refused.err);
    assert!(refused.err.contains(why) && refused.err.contains("all your rights"), "{}", refused.err);
    assert!(!place.path().join("ran").exists(), "it has run");
}

const READ_IT: &str = "Read it, and what stands beside it";
const CHANGED: &str = "has changed, has come or is gone";

#[test]
fn check_says_which_programs_a_lesson_starts() {
    let place = place("[bash, worker.sh]");
    let checked = place.run(&["check", "mine/lesson.yaml"]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    assert!(checked.out.ends_with("It starts programs as you:\n  bash worker.sh\n"), "{}", checked.out);
}

#[test]
fn what_is_allowed_is_one_place_however_it_is_named() {
    let place = place("[bash, worker.sh]");
    let allowed = trust(&place, "mine/lesson.yaml");
    for part in ["mine/lesson.yaml", "mine/worker.sh", "or another comes"] {
        assert!(allowed.out.contains(part), "{}", allowed.out);
    }
    let whole = place.path().join("mine/../mine/lesson.yaml").display().to_string();
    assert_runs(&place, "mine/lesson.yaml");
    assert_runs(&place, &whole);
    // A copy elsewhere, with a module beside it or without.
    place.write("copy/lesson.yaml", lesson("[bash, worker.sh]"));
    place.write("copy/worker.sh", WORKER);
    assert_refused(&place, "copy/lesson.yaml", READ_IT);
    // A link to it from a directory with another program: the allowed program runs.
    place.write("linked/worker.sh", "echo other >> $HOME/other\n");
    symlink(place.path().join("mine/lesson.yaml"), place.path().join("linked/lesson.yaml")).expect("a link");
    assert_runs(&place, "linked/lesson.yaml");
    assert!(!place.path().join("other").exists());
    trust(&place, &whole);
    assert_runs(&place, "mine/lesson.yaml");
    trust(&place, "copy/lesson.yaml");
    assert_eq!(place.run(&["trust", "--revoke", &whole]).code, Some(0));
    assert_refused(&place, "mine/lesson.yaml", READ_IT);
    // The permission of a deleted lesson can still be revoked.
    fs::remove_file(place.path().join("copy/lesson.yaml")).expect("it is there");
    assert_eq!(place.run(&["trust", "--revoke", "copy/lesson.yaml"]).code, Some(0));
    place.write("copy/lesson.yaml", lesson("[bash, worker.sh]"));
    assert_refused(&place, "copy/lesson.yaml", READ_IT);
    place.assert_nothing_left();
}

#[test]
fn everything_beside_a_lesson_is_covered() {
    for exec in ["[bash, -c, 'bash ./worker.sh']", "[bash, '${prog}.sh']", "[bash, -c, '. pkg/main.sh']"] {
        let place = place(exec);
        place.write("mine/pkg/main.sh", WORKER);
        place.write("mine/.git/index", "history");
        trust(&place, "mine/lesson.yaml");
        assert_runs(&place, "mine/lesson.yaml");
        place.write("mine/.git/index", "more history");
        assert_runs(&place, "mine/lesson.yaml");
        for file in ["worker.sh", "pkg/main.sh", "redis.py", "pkg/__pycache__/redis.pyc"] {
            let path = place.path().join("mine").join(file);
            let before = fs::read(&path).ok();
            place.write(&format!("mine/{file}"), format!("{WORKER}# changed\n"));
            assert_refused(&place, "mine/lesson.yaml", CHANGED);
            match before {
                Some(before) => fs::write(path, before),
                None => fs::remove_file(path),
            }
            .expect("as it was");
        }
        assert_runs(&place, "mine/lesson.yaml");
        // A deleted file is a change, too, and so is a renamed one.
        let renamed = place.path().join("mine/pkg/other.sh");
        fs::rename(place.path().join("mine/pkg/main.sh"), renamed).expect("renamed");
        assert_refused(&place, "mine/lesson.yaml", CHANGED);
        place.assert_nothing_left();
    }
}

#[test]
fn a_file_elsewhere_that_a_command_names_is_covered() {
    for exec in ["[bash, ../elsewhere/worker.sh]", "[sh, -c, 'true; exec bash \"../elsewhere/worker.sh\"']"] {
        let place = place(exec);
        place.write("elsewhere/worker.sh", WORKER);
        trust(&place, "mine/lesson.yaml");
        assert_runs(&place, "mine/lesson.yaml");
        place.write("elsewhere/worker.sh", format!("{WORKER}# changed\n"));
        assert_refused(&place, "mine/lesson.yaml", CHANGED);
    }
}

#[test]
fn python_writes_nothing_beside_a_lesson() {
    let place = place("[python3, worker.py]");
    place.write("mine/helper.py", "import os, socket\n");
    let ask = "server = socket.create_connection((os.environ['REDIS_HOST'], int(os.environ['REDIS_PORT'])))
open(os.environ['HOME'] + '/ran', 'w').close()
server.sendall(b'SET lock x\\r\\n')
server.recv(99)
";
    place.write("mine/worker.py", format!("from helper import os, socket\n{ask}"));
    trust(&place, "mine/lesson.yaml");
    assert_runs(&place, "mine/lesson.yaml");
    assert_runs(&place, "mine/lesson.yaml");
}

#[test]
fn what_cannot_be_covered_cannot_be_allowed() {
    let place = place("[bash, worker.sh]");
    let refused = |file: &str, why: &str| {
        let refused = place.run(&["trust", file]);
        assert_eq!(refused.code, Some(2), "{}", refused.out);
        assert!(refused.err.contains(why), "{}", refused.err);
    };
    place.write("lesson.yaml", lesson("[bash, worker.sh]"));
    refused("lesson.yaml", "Lockstep's own files about you are below its directory");
    place.write("elsewhere/module.py", "");
    trust(&place, "mine/lesson.yaml");
    symlink(place.path().join("elsewhere"), place.path().join("mine/package")).expect("a link");
    refused("mine/lesson.yaml", "is a link to the directory");
    assert_refused(&place, "mine/lesson.yaml", "is a link to the directory");
    fs::remove_file(place.path().join("mine/package")).expect("it is there");
    let large = fs::File::create(place.path().join("mine/large")).expect("a file");
    large.set_len(33 << 20).expect("it grows");
    refused("mine/lesson.yaml", "into a directory of their own");
    large.set_len(0).expect("it shrinks");
    for n in 0..4100 {
        place.write(&format!("mine/many/{n}"), "");
    }
    refused("mine/lesson.yaml", "into a directory of their own");
}

/// The first result of a run.
async fn first(scenario: &Scenario, options: &lockstep::lab::LabOptions) -> Result<(), String> {
    let mut session = session::open(scenario.clone(), options.clone(), 1);
    while let Some(update) = session.updates.recv().await {
        match update {
            Update::Failed(why) => return Err(why.message.en),
            Update::Events(_) => return Ok(()),
            _ => {}
        }
    }
    Err("it has ended".to_owned())
}

#[tokio::test]
async fn the_parameters_of_a_recording_choose_no_program() {
    let place = place("[bash, '${prog}.sh']");
    // This run does not use the private home.
    let worker = WORKER.replace("echo \"$0\" >> \"$HOME/ran\"\n", "");
    place.write("mine/worker.sh", &worker);
    place.write("mine/other.sh", &worker);
    let loaded = load_file(&place.path().join("mine/lesson.yaml")).expect("a lesson");
    let covered = loaded.covered().expect("it can be covered");
    let mut options = options();
    options.trusted.insert(covered.file, covered.digest);
    let plan = |params: &Params| Scenario::plan(&loaded, "only", params).expect("a scenario");
    let word = |word: &str| Params::from_iter([("prog".to_owned(), Param::Word(word.to_owned()))]);
    // As in a foreign recording.
    let of_recording = plan(&word("other"));
    let refused = first(&of_recording, &options).await.expect_err("it is refused");
    assert!(refused.contains("the recording chooses") && refused.contains("bash other.sh"), "{refused}");
    // Parameters that lead to the lesson's own command are accepted, and so is what the user sets.
    assert_eq!(first(&plan(&Params::new()), &options).await, Ok(()));
    assert_eq!(first(&plan(&word("worker")), &options).await, Ok(()));
    options.set = word("other");
    assert_eq!(first(&of_recording, &options).await, Ok(()));
}
