### English. `$shown` is a formatted count, and `$span` a duration such as "5 minutes".

title-position = No. { $shown } in line
title-waiting = Waiting
title-turn = It is your turn

headline-busy = Many people are here right now
headline-closed = Sorry, we are full
headline-draining = The line is closed
headline-full = The line is full
headline-key = Something is missing from this request
headline-network = Many people on your network are already in line
headline-rate = That was a little too fast
headline-setup = This service is not set up correctly
headline-turn = It is your turn
headline-unavailable = One moment, please
headline-waiting = You are in line

detail-busy = All places are taken at the moment.
detail-closed = Nobody else can come in at the moment.
detail-draining = Everyone already in line will still be served, but nobody can join it any more.
detail-full = More people are waiting than the line can hold.
detail-key = It does not say who sent it.
detail-network = Your network already holds as many places in line as one network may have.
detail-rate = Too many requests came from you in a short time.
detail-setup = You did nothing wrong. The server's log says how to fix it.
detail-unavailable = Something on our side is not working as it should. It will be back soon.

position = You are number { $shown } in line
position-about = You are around number { $shown } in line
position-first = You are next in line
position-lot = Your turn is drawn by lot
position-pending = We are getting your place
ahead = { $count ->
    [one] About { $shown } person is ahead of you
   *[other] About { $shown } people are ahead of you
}

wait-about = Estimated wait: about { $span }.
wait-long = Estimated wait: more than a day.
wait-paused = Nobody is being let in at the moment. We cannot say yet how long it will take.
wait-short = Estimated wait: less than a minute.
wait-unknown = We cannot say yet how long it will take.

keep = You may close this tab for { $span } without losing your place.
again = Please try again in { $span }.
unsent = What you entered has not been sent yet. It is not lost: keep this page open, and send it again when it is your turn.

updates = This page updates by itself.
updated = Last updated at
offline = The connection is lost. Your place is kept, and we keep trying.
online = The connection is back.
cookies = This page needs cookies to keep your place.
button-again = Try again
button-send = Send again

seconds = { $count ->
    [one] { $count } second
   *[other] { $count } seconds
}
minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
hours = { $count ->
    [one] { $count } hour
   *[other] { $count } hours
}
minutes-range = { $low } to { $count } minutes
hours-range = { $low } to { $count } hours

stop = { $text }.

ahead-none = Nobody is ahead of you
line-about = { $count ->
    [one] About { $shown } person is waiting
   *[other] About { $shown } people are waiting
}
slower = The wait has grown because people are being let in more slowly.
returned = The wait has grown because more people are ahead of you now.
retries = This page tries again by itself.
support = Help and contact

event-start = It starts in { $span }.
event-lot = Your place is drawn by lot at the start
event-number = Your number in the draw is { $shown }.
event-proof = Anyone can check the draw afterwards. Its commitment is { $text }.
event-result = Your number { $low } of { $count } got place { $shown } in the draw.
event-seed = Anyone can recompute the draw. Its seed is { $text }.

transfer-here = Continue here with the better place of the two devices
transfer-link = Open this link on the other device within a few minutes. Do not share it: it gives access to your place.
transfer-offer = Continue on another device
transfer-void = This link is no longer valid. Ask for a new one on the other device.
