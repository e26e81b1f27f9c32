### Français. `$shown` est un nombre tel qu'on l'écrit, `$span` une durée comme « 5 minutes ».

title-position = N° { $shown } dans la file
title-waiting = En attente
title-turn = C’est votre tour

headline-busy = Il y a beaucoup de monde en ce moment
headline-closed = Désolés, nous sommes complets
headline-draining = La file d’attente est fermée
headline-full = La file d’attente est pleine
headline-key = Il manque quelque chose à cette requête
headline-network = Beaucoup de personnes de votre réseau attendent déjà
headline-rate = C’était un peu trop rapide
headline-setup = Ce service n’est pas configuré correctement
headline-turn = C’est votre tour
headline-unavailable = Un instant, s’il vous plaît
headline-waiting = Vous êtes dans la file d’attente

detail-busy = Toutes les places sont prises pour un instant.
detail-closed = Personne d’autre ne peut entrer pour le moment.
detail-draining = Les personnes déjà dans la file seront servies, mais il n’est plus possible de la rejoindre.
detail-full = Il y a plus de monde que la file ne peut en accueillir.
detail-key = Impossible de savoir de qui elle vient.
detail-network = Votre réseau a dans la file autant de places qu’un réseau peut en avoir.
detail-rate = Trop de requêtes sont venues de vous en peu de temps.
detail-setup = Vous n’y êtes pour rien. Le journal du serveur indique comment y remédier.
detail-unavailable = Quelque chose ne fonctionne pas comme prévu chez nous. Ce sera bientôt rétabli.

position = Vous êtes numéro { $shown } dans la file
position-about = Vous êtes environ numéro { $shown } dans la file
position-first = Vous êtes en tête de la file
position-lot = Votre tour est tiré au sort
position-pending = Nous cherchons votre place
ahead = { $count ->
    [one] Environ { $shown } personne est devant vous
   *[other] Environ { $shown } personnes sont devant vous
}

wait-about = Attente estimée : environ { $span }.
wait-long = Attente estimée : plus d’une journée.
wait-paused = Personne n’entre pour le moment. Nous ne pouvons pas encore dire combien de temps cela prendra.
wait-short = Attente estimée : moins d’une minute.
wait-unknown = Nous ne pouvons pas encore dire combien de temps cela prendra.

keep = Vous pouvez fermer cet onglet pendant { $span } sans perdre votre place.
again = Veuillez réessayer dans { $span }.
unsent = Ce que vous avez saisi n’a pas encore été envoyé. Rien n’est perdu : gardez cette page ouverte et renvoyez-la quand ce sera votre tour.

updates = Cette page se met à jour toute seule.
updated = Dernière mise à jour à
offline = La connexion est interrompue. Votre place est gardée, et nous continuons d’essayer.
online = La connexion est rétablie.
cookies = Cette page a besoin de cookies pour garder votre place.
button-again = Réessayer
button-send = Renvoyer

seconds = { $count ->
    [one] { $count } seconde
   *[other] { $count } secondes
}
minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
hours = { $count ->
    [one] { $count } heure
   *[other] { $count } heures
}
minutes-range = { $low } à { $count } minutes
hours-range = { $low } à { $count } heures

stop = { $text }.

ahead-none = Personne n’est devant vous
line-about = { $count ->
    [one] Environ { $shown } personne attend
   *[other] Environ { $shown } personnes attendent
}
slower = L’attente s’est allongée, car les entrées sont plus lentes.
returned = L’attente s’est allongée, car davantage de personnes sont maintenant devant vous.
retries = Cette page réessaie toute seule.
support = Aide et contact

event-start = Début dans { $span }.
event-lot = Votre place sera tirée au sort au début
event-number = Votre numéro dans le tirage est { $shown }.
event-proof = Chacun pourra vérifier le tirage ensuite. Son engagement est { $text }.
event-result = Votre numéro { $low } sur { $count } a obtenu la place { $shown } dans le tirage.
event-seed = Chacun peut recalculer le tirage. Sa graine est { $text }.

transfer-here = Continuer ici avec la meilleure place des deux appareils
transfer-link = Ouvrez ce lien sur l’autre appareil dans les prochaines minutes. Ne le partagez pas : il donne accès à votre place.
transfer-offer = Continuer sur un autre appareil
transfer-void = Ce lien n’est plus valable. Demandez-en un nouveau sur l’autre appareil.
