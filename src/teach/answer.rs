//! Answers requests. Paths are compared literally with the known ones: nothing is decoded, and no file is read.

use std::{convert::Infallible, net::IpAddr, sync::PoisonError, time::Duration};

use futures::StreamExt as _;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Frame, Incoming},
    header::{self, HeaderName, HeaderValue},
    http::{request::Parts, uri::Authority},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{
    ballot::Vote,
    class::{Class, Connection, Viewer},
    limits::LIMIT_DELAY,
    pages,
    secret::{self, CODE_LENGTH},
    state,
};
use crate::ui::state::classroom::protocol::Remote;

/// The maximum size of a body, in bytes.
const BODY: usize = 200;
const BODY_WITHIN: Duration = Duration::from_secs(10);

const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Answer = Response<Body>;

/// The reason for a refusal: a status, and a word for scripts.
#[derive(Debug, Clone, Copy)]
struct Refusal(StatusCode, &'static str);

const NOT_FOUND: Refusal = Refusal(StatusCode::NOT_FOUND, "not found");
const TOO_OFTEN: Refusal = Refusal(StatusCode::TOO_MANY_REQUESTS, "rate");
const BUSY: Refusal = Refusal(StatusCode::SERVICE_UNAVAILABLE, "busy");
const NO_COOKIE: Refusal = Refusal(StatusCode::FORBIDDEN, "cookie");
const GARBAGE: Refusal = Refusal(StatusCode::UNPROCESSABLE_ENTITY, "choice");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VoteBody {
    poll: u64,
    choice: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RemoteBody {
    #[serde(rename = "do")]
    remote: Remote,
}

pub(crate) async fn answer(connection: &Connection, request: Request<Incoming>) -> Answer {
    let mut answer = route(connection, request)
        .await
        .unwrap_or_else(|Refusal(status, word)| respond(status, JSON, json!({"error": word}).to_string()));
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if [TOO_OFTEN.0, BUSY.0].contains(&answer.status()) {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

async fn route(connection: &Connection, request: Request<Incoming>) -> Result<Answer, Refusal> {
    let class = &connection.class;
    let has_time = connection.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
    if !has_time {
        sleep(LIMIT_DELAY).await;
        return Err(TOO_OFTEN);
    }
    let (head, body) = request.into_parts();
    check_host_and_origin(&head)?;
    let is = |method: Method| {
        let refusal = Refusal(StatusCode::METHOD_NOT_ALLOWED, "method");
        if head.method == method { Ok(()) } else { Err(refusal) }
    };
    let path: Vec<&str> = head.uri.path().strip_prefix('/').ok_or(NOT_FOUND)?.splitn(4, '/').collect();
    match path[..] {
        [""] => {
            is(Method::GET)?;
            Ok(join(head.uri.query()))
        }
        ["stage"] => {
            is(Method::GET)?;
            Ok(respond(StatusCode::OK, HTML, pages::beginning_in(class.look.lang, pages::STAGE)))
        }
        ["stage", "events"] => {
            is(Method::GET)?;
            stream(class, Viewer::Stage)
        }
        ["assets", name] => {
            is(Method::GET)?;
            let (kind, text) = pages::asset(name).ok_or(NOT_FOUND)?;
            Ok(respond(StatusCode::OK, kind, text.into_owned()))
        }
        // Handled first, because `assets` looks like a code.
        ["assets", ..] => Err(NOT_FOUND),
        ["teacher", given, ref rest @ ..] => {
            if !secret::same(given, &class.secret) {
                return Err(guessed_wrong(class, connection.ip));
            }
            match rest {
                [] => {
                    is(Method::GET)?;
                    Ok(respond(StatusCode::OK, HTML, pages::beginning_in(class.look.lang, pages::TEACHER)))
                }
                ["events"] => {
                    is(Method::GET)?;
                    stream(class, Viewer::Teacher)
                }
                ["do"] => {
                    is(Method::POST)?;
                    let RemoteBody { remote } = read(body).await?;
                    if !class.send_remote(remote) {
                        return Err(BUSY);
                    }
                    Ok(respond(StatusCode::NO_CONTENT, JSON, ""))
                }
                _ => Err(NOT_FOUND),
            }
        }
        [given, ref rest @ ..] if has_form_of_code(given) => {
            let cookie = cookie(&head.headers).filter(|cookie| class.people().phones.knows(*cookie));
            if let Err(refusal) = check_code(connection, given, cookie.is_some()) {
                let page = if refusal.0 == TOO_OFTEN.0 { pages::later() } else { pages::JOIN.to_owned() };
                return if rest.is_empty() { Ok(respond(refusal.0, HTML, page)) } else { Err(refusal) };
            }
            match rest {
                [] => {
                    is(Method::GET)?;
                    with_cookie(class, cookie, |_| Ok(respond(StatusCode::OK, HTML, pages::PHONE)))
                }
                ["events"] => {
                    is(Method::GET)?;
                    with_cookie(class, cookie, |cookie| stream(class, Viewer::Phone(cookie)))
                }
                ["vote"] => {
                    is(Method::POST)?;
                    let cookie = cookie.ok_or(NO_COOKIE)?;
                    let VoteBody { poll, choice } = read(body).await?;
                    match class.vote(cookie, poll, choice) {
                        Vote::Counted => {
                            let counted = json!({"poll": poll, "choice": choice}).to_string();
                            Ok(respond(StatusCode::OK, JSON, counted))
                        }
                        Vote::Over => Err(Refusal(StatusCode::CONFLICT, "over")),
                        Vote::NoSuchChoice => Err(GARBAGE),
                        Vote::TooOften => Err(TOO_OFTEN),
                        Vote::Stranger => Err(NO_COOKIE),
                    }
                }
                _ => Err(NOT_FOUND),
            }
        }
        _ => Err(NOT_FOUND),
    }
}

/// Checks that a request is meant for this server. A host name other than `localhost` could belong to a site that
/// points here, and another origin is another site.
fn check_host_and_origin(head: &Parts) -> Result<(), Refusal> {
    let wrong_host = Refusal(StatusCode::MISDIRECTED_REQUEST, "host");
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let (Some(host), None, None) = (hosts.next(), hosts.next(), head.uri.authority()) else {
        return Err(wrong_host);
    };
    let host = host.to_str().map_err(|_| wrong_host)?;
    let authority: Authority = host.parse().map_err(|_| wrong_host)?;
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    let is_known = name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    if !is_known || host.contains('@') {
        return Err(wrong_host);
    }
    match head.headers.get(header::ORIGIN) {
        Some(origin) if *origin != *format!("http://{host}") => Err(Refusal(StatusCode::FORBIDDEN, "origin")),
        _ => Ok(()),
    }
}

/// The page that asks for the code. With a valid form of code it redirects to the phone's page.
fn join(query: Option<&str>) -> Answer {
    let given = query.and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("code=")));
    let Some(given) = given else { return respond(StatusCode::OK, HTML, pages::JOIN) };
    // People may type a space or a dash in the middle.
    let given = given.replace("%20", "");
    let code: String = given.chars().filter(char::is_ascii_alphanumeric).collect();
    let code = code.to_ascii_uppercase();
    match HeaderValue::from_str(&format!("/{code}")) {
        Ok(place) if has_form_of_code(&code) => {
            let mut answer = respond(StatusCode::SEE_OTHER, HTML, "");
            answer.headers_mut().insert(header::LOCATION, place);
            answer
        }
        _ => respond(StatusCode::NOT_FOUND, HTML, pages::JOIN),
    }
}

fn has_form_of_code(given: &str) -> bool {
    given.len() == CODE_LENGTH && given.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Checks a code. After too many wrong guesses even the right code is refused, except for phones that have joined
/// before.
fn check_code(connection: &Connection, given: &str, is_known: bool) -> Result<(), Refusal> {
    let class = &connection.class;
    let is_right = secret::same(&given.to_ascii_uppercase(), &class.code);
    if !is_right {
        return Err(guessed_wrong(class, connection.ip));
    }
    if !is_known && class.people().addresses.guesses_too_often(connection.ip) {
        return Err(TOO_OFTEN);
    }
    Ok(())
}

fn guessed_wrong(class: &Class, ip: IpAddr) -> Refusal {
    let addresses = &mut class.people().addresses;
    if addresses.guesses_too_often(ip) {
        return TOO_OFTEN;
    }
    addresses.guessed_wrong(ip);
    NOT_FOUND
}

fn cookie(headers: &HeaderMap) -> Option<u128> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut votes = cookies.flat_map(|all| all.split(';')).filter_map(|one| one.trim().strip_prefix("vote="));
    votes.find_map(|vote| u128::from_str_radix(vote, 16).ok())
}

/// Answers a phone, and sets a cookie if the phone has no known one.
fn with_cookie(
    class: &Class,
    known: Option<u128>,
    answer: impl FnOnce(u128) -> Result<Answer, Refusal>,
) -> Result<Answer, Refusal> {
    if let Some(cookie) = known {
        return answer(cookie);
    }
    let cookie = secret::cookie().map_err(|_| BUSY)?;
    class.people().phones.add(cookie);
    let mut answer = answer(cookie)?;
    let text = format!("vote={cookie:032x}; HttpOnly; SameSite=Strict; Path=/");
    answer.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_str(&text).map_err(|_| BUSY)?);
    Ok(answer)
}

async fn read<T: DeserializeOwned>(body: Incoming) -> Result<T, Refusal> {
    let late = Refusal(StatusCode::REQUEST_TIMEOUT, "late");
    let body = timeout(BODY_WITHIN, Limited::new(body, BODY).collect()).await.map_err(|_| late)?;
    let body = body.map_err(|_| Refusal(StatusCode::PAYLOAD_TOO_LARGE, "large"))?;
    serde_json::from_slice(&body.to_bytes()).map_err(|_| GARBAGE)
}

fn stream(class: &std::sync::Arc<Class>, viewer: Viewer) -> Result<Answer, Refusal> {
    let subscription = class.subscribe(viewer).ok_or(BUSY)?;
    let events = state::events(subscription).map(|event| Ok(Frame::data(event)));
    let mut answer = Response::new(StreamBody::new(events).boxed_unsync());
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(answer)
}

fn respond(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()).boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{NOT_FOUND, TOO_OFTEN, check_code};
    use crate::{
        export::Look,
        teach::{
            class::{Class, Connection},
            limits::{Bucket, REQUESTS, Rate},
        },
        ui::state::classroom::protocol::{self, Joining},
    };

    #[test]
    fn too_many_guesses_refuse_even_the_right_code_but_known_phones_stay() {
        let code = "ABC234".to_owned();
        let joining = Joining { url: format!("http://127.0.0.1/{code}"), code: code.clone(), loopback: true };
        let (_classroom, ends) = protocol::open(joining.clone());
        let class = Class::new(joining, "secret".to_owned(), ends, Look::default());
        let ip = "127.0.0.1".parse().expect("an address");
        let requests = Mutex::new(Bucket::new(REQUESTS));
        let connection = Connection { class: Arc::new(class), ip, requests };
        assert!(connection.class.people().addresses.enter(ip));
        let asks =
            |code: &str, is_known| check_code(&connection, code, is_known).map_err(|refusal| refusal.0);
        assert_eq!(asks("ABC235", false), Err(NOT_FOUND.0));
        assert_eq!(asks("abc234", false), Ok(()));
        connection.class.people().addresses.wrong = Bucket::new(Rate { per_second: 0.0, burst: 0.0 });
        for code in ["ABC235", &code] {
            assert_eq!(asks(code, false), Err(TOO_OFTEN.0), "{code}");
        }
        assert_eq!(asks(&code, true), Ok(()));
    }
}
