### Español. `$shown` es un número tal como se escribe, `$span` un tiempo como «5 minutos».

title-position = N.º { $shown } en la fila
title-waiting = En espera
title-turn = Es su turno

headline-busy = Hay mucha gente en este momento
headline-closed = Lo sentimos, está completo
headline-draining = La fila está cerrada
headline-full = La fila está llena
headline-key = A esta solicitud le falta algo
headline-network = Ya esperan muchas personas de su red
headline-rate = Eso fue demasiado rápido
headline-setup = Este servicio no está bien configurado
headline-turn = Es su turno
headline-unavailable = Un momento, por favor
headline-waiting = Está usted en la fila

detail-busy = Por un momento, todos los lugares están ocupados.
detail-closed = Por ahora no puede entrar nadie más.
detail-draining = Quienes ya están en la fila serán atendidos, pero ya no es posible unirse a ella.
detail-full = Espera más gente de la que cabe en la fila.
detail-key = No es posible saber de quién viene.
detail-network = Su red tiene en la fila tantos lugares como puede tener una red.
detail-rate = Llegaron demasiadas solicitudes suyas en poco tiempo.
detail-setup = No ha hecho usted nada mal. El registro del servidor indica cómo solucionarlo.
detail-unavailable = Algo no funciona como debería en nuestro sistema. Volverá pronto.

position = Es usted el número { $shown } de la fila
position-about = Es usted aproximadamente el número { $shown } de la fila
position-first = El próximo turno es el suyo
position-lot = Su turno se decide por sorteo
position-pending = Estamos buscando su lugar
ahead = { $count ->
    [one] Hay aproximadamente { $shown } persona delante de usted
   *[other] Hay aproximadamente { $shown } personas delante de usted
}

wait-about = Espera estimada: alrededor de { $span }.
wait-long = Espera estimada: más de un día.
wait-paused = Por ahora no entra nadie. Aún no podemos decir cuánto tardará.
wait-short = Espera estimada: menos de un minuto.
wait-unknown = Aún no podemos decir cuánto tardará.

keep = Puede cerrar esta pestaña durante { $span } sin perder su lugar.
again = Vuelva a intentarlo en { $span }.
unsent = Lo que ha escrito aún no se ha enviado. No se ha perdido: mantenga esta página abierta y envíelo de nuevo cuando sea su turno.

updates = Esta página se actualiza sola.
updated = Última actualización a las
offline = Se ha perdido la conexión. Su lugar está guardado y seguimos intentándolo.
online = La conexión ha vuelto.
cookies = Esta página necesita cookies para guardar su lugar.
button-again = Intentar de nuevo
button-send = Enviar de nuevo

seconds = { $count ->
    [one] { $count } segundo
   *[other] { $count } segundos
}
minutes = { $count ->
    [one] { $count } minuto
   *[other] { $count } minutos
}
hours = { $count ->
    [one] { $count } hora
   *[other] { $count } horas
}
minutes-range = { $low } a { $count } minutos
hours-range = { $low } a { $count } horas

stop = { $text }.

ahead-none = No hay nadie por delante de usted
line-about = { $count ->
    [one] Aproximadamente { $shown } persona está esperando
   *[other] Aproximadamente { $shown } personas están esperando
}
slower = La espera ha aumentado porque se está entrando más despacio.
returned = La espera ha aumentado porque ahora hay más personas por delante de usted.
retries = Esta página lo intenta de nuevo por sí sola.
support = Ayuda y contacto

event-start = Empieza en { $span }.
event-lot = Su lugar se sorteará al empezar
event-number = Su número en el sorteo es { $shown }.
event-proof = Cualquiera podrá comprobar el sorteo después. Su compromiso es { $text }.
event-result = Su número { $low } de { $count } obtuvo el lugar { $shown } en el sorteo.
event-seed = Cualquiera puede recalcular el sorteo. Su semilla es { $text }.

transfer-here = Continuar aquí con el mejor lugar de los dos dispositivos
transfer-link = Abra este enlace en el otro dispositivo en unos minutos. No lo comparta: da acceso a su lugar.
transfer-offer = Continuar en otro dispositivo
transfer-void = Este enlace ya no es válido. Pida uno nuevo en el otro dispositivo.
